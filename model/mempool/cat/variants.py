"""What CAT's documents and its node disagree in, as edits of a protocol.

Our reading is the text's, with two exceptions: in the current version a user's transaction is announced, as
the code does, and a peer that is known to have a transaction is neither sent it nor told of it.
"""

from __future__ import annotations

from quidnunc.model.choices import Choose
from quidnunc.model.edit import Edit, in_turn, replacing
from quidnunc.model.errors import SpecError
from quidnunc.model.mempool.cat import rules as cat
from quidnunc.model.mempool.node import Node
from quidnunc.model.mempool.node_step import run
from quidnunc.model.permits import Step
from quidnunc.model.pubsub.router import ReceivedPart
from quidnunc.model.rpc import ROUTER, SeenTx, Tx
from quidnunc.model.rules import Protocol, Targets, rule


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


@rule("cat-classic/submit.push")
def push_to_all(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node] | None:
    """By the letter: to those that announced it, too."""
    if t.peer != ROUTER:
        return None
    tx = t.part.id
    pushed = cat.pooled(n, tx).with_holders(tx, n.peers)
    return Step(pushed, cat.permits_to(n.peers, Tx(tx), "cat-classic/submit.push"))


@rule("cat-classic/receive.announce")
def announce_to_all_but_sender(n: Node, t: ReceivedPart[Tx], choose: Choose) -> Step[Node]:
    """By the letter: to those that have it, too, and not to the one who sent it now."""
    tx, told = t.part.id, n.peers.keys() - {t.peer}
    return Step(cat.pooled(n, tx), cat.permits_to(told, SeenTx(tx), "cat-classic/receive.announce"))


@rule("cat/want.after-seen")
def announced_or_not(n: Node, tx: str) -> Targets:
    """The Go node asks whoever is known to have it, as one does that sent it unasked: free."""
    surely = cat.announcers.apply(n, tx)
    return Targets(surely, (n.holders_of(tx) & n.peers.keys()) - surely)


def _classic(protocol: Protocol) -> Protocol:
    """The current text bounds the announcement, and says nothing of the others."""
    if not any(each.name == "announce_to_all" for _, each in protocol.rules()):
        raise SpecError(f"{protocol.name} has no rule announce_to_all")
    return protocol


CAT_READINGS: tuple[Edit, ...] = (
    Edit(
        "announced-to-holders",
        "reading",
        "cat-classic/receive.announce",
        "A transaction of a peer is announced to all peers but its sender, also to those that have it.",
        in_turn(_classic, replacing(announce_received=announce_to_all_but_sender)),
    ),
    Edit(
        "pushed-to-holders",
        "reading",
        "cat-classic/submit.push",
        "A user's transaction is pushed to all peers, also to those that have it.",
        replacing(push_own=push_to_all),
    ),
    Edit(
        "own-pushed",
        "reading",
        "cat/submit.push",
        "A user's transaction is pushed to all peers that are not known to have it, and not announced.",
        replacing(announce_own=push_by_the_text),
    ),
)
"""Sentences that contradict themselves, or that no node follows to the letter: who does is no failure."""

CAT_VARIANTS: tuple[Edit, ...] = (
    Edit(
        "announced-again",
        "variant",
        "cat-classic/receive.announce-again",
        "Announces a transaction in its pool again when a copy of it comes.",
        replacing(take_new=announce_again),
    ),
    Edit(
        "holders-asked",
        "variant",
        "cat/want.after-seen",
        "Requests a transaction also from a peer that has it and has not announced it.",
        replacing(announcers=announced_or_not),
    ),
)
