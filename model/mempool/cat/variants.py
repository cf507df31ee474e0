"""What CAT's documents and its node disagree in, as edits of a protocol.

Our reading is the text's, with one exception: a user's transaction goes to whom the code sends it.
"""

from __future__ import annotations

from quidnunc.model.choices import Choose
from quidnunc.model.edit import Edit, replacing
from quidnunc.model.mempool.cat import rules as cat
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.node_step import run
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import ReceivedPart
from quidnunc.model.rpc import ROUTER, Tx
from quidnunc.model.rules import Targets, rule


@rule("cat-classic/receive.announce-again")
def announce_again(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """The Go node: a copy of what is in the pool is announced as a new one is."""
    if t.part.id in n.pool and t.peer != ROUTER:
        return run(n, "announce", t.part.id, choose)
    found = cat.take_new.step(n, t, choose)
    return found  # type: ignore[return-value]


@rule("cat/submit.push")
def push_by_the_text(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """The current text still says what the classic one does."""
    found = cat.push_own.step(n, t, choose)
    return found  # type: ignore[return-value]


@rule("cat/want.after-seen")
def announced_or_not(n: Node, tx: str) -> Targets:
    """The Go node asks whoever is known to have it, as one does that sent it unasked: free."""
    surely = cat.announcers.apply(n, tx)
    return Targets(surely, (n.holders_of(tx) & n.peers.keys()) - surely)


CAT_VARIANTS: tuple[Edit, ...] = (
    Edit(
        "announced-again",
        "variant",
        "cat-classic/receive.announce-again",
        "Announces a transaction in its pool again when a copy of it comes.",
        replacing(take_new=announce_again),
    ),
    Edit(
        "own-pushed",
        "variant",
        "cat/submit.push",
        "Pushes a user's transaction to all its peers, and does not announce it.",
        replacing(announce_own=push_by_the_text),
    ),
    Edit(
        "holders-asked",
        "variant",
        "cat/want.after-seen",
        "Requests a transaction also from a peer that has it and has not announced it.",
        replacing(announcers=announced_or_not),
    ),
)
