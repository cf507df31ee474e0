"""A choice that is none of those allowed, in words, which headlines, notes, issues and `play` share."""

from __future__ import annotations

from quidnunc.model.choices import NOT_THOSE, TOO_FEW
from quidnunc.properties.notation.words import peer_text

CHOSEN = {
    "mesh.join": "peers to graft",
    "mesh.fill": "peers to graft",
    "mesh.outbound": "outbound peers to graft",
    "mesh.opportunistic": "better peers to graft",
    "mesh.cut": "members to prune",
    "gossip.targets": "peers to gossip to",
    "fanout.use": "peers of the fanout",
    "reset.target": "a peer to send ResetRoute to",
    "want.source": "a peer to request from",
    "want.queued": "a peer to request from",
    "announce.sticky": "peers to announce to",
    "announce.persistent": "persistent peers to announce to",
    "partial.offered": "peers to offer to the application",
    "publish.instead": "peers to publish to",
    "slot.unresolved": "a peer to give a slot to",
}
"""What is chosen, by the name of the choice; others stand by their name."""


def chosen_words(reason: str, place: str = "", by: str = "the clause") -> str:
    """`Chooses no peers to graft, where at least 2 are due`, of a departure's `reason`.

    `place` stands before the comma; `by` is what demands others.
    """
    name, _, problem = reason.partition(": ")
    if name == "pool.order":
        txs, _, peer = problem.rpartition(" ")
        return f"Sends {txs} {peer_text(int(peer))}{place}, against the order of the pool"
    what, count = CHOSEN.get(name, name), problem.partition(" ")[0]
    several = what.removeprefix("a ")
    own = "" if by == "the clause" else f" by {by}"
    if NOT_THOSE in problem:
        return f"Chooses {count} {several}{place}, and not those that {by} demands"
    if TOO_FEW not in problem:
        return f"Chooses {what}{place}: {problem}{own}"
    least = problem.removesuffix(" required").rpartition(" ")[2]
    due = "one is" if least == "1" else f"at least {least} are"
    chosen = f"no {several}" if count == "0" else f"only {count} of the {several}"
    return f"Chooses {chosen}{place}, where {due} due{own}"


def lower_first(said: str) -> str:
    """A sentence as the rest of another one."""
    return said[:1].lower() + said[1:]
