"""What CAT's documents and its node disagree in, as edits of a protocol.

Our reading is the text's, but for whom a user's transaction goes to: there the code has left the text behind.
"""

from __future__ import annotations

from collections.abc import Mapping

from quidnunc.model import cat
from quidnunc.model.choices import Choose
from quidnunc.model.node import Node
from quidnunc.model.node_step import run
from quidnunc.model.permits import Step
from quidnunc.model.readings import Reading
from quidnunc.model.router import From
from quidnunc.model.rpc import ROUTER, Tx
from quidnunc.model.rules import rule


@rule("cat-classic/receive.announce-again")
def announce_again(n: Node, t: From[Tx], choose: Choose) -> Step[Node] | None:
    """The Go node: a copy of what is in the pool is announced as a new one is."""
    if t.part.id in n.pool and t.peer != ROUTER:
        return run(n, "announce", t.part.id, choose)
    found = cat.take_new.step(n, t, choose)
    return found  # type: ignore[return-value]


@rule("cat/submit.push")
def push_by_the_text(n: Node, t: From[Tx], choose: Choose) -> Step[Node] | None:
    """The current text still says what the classic one does."""
    found = cat.push_own.step(n, t, choose)
    return found  # type: ignore[return-value]


CAT_READINGS: Mapping[str, Reading] = {
    each.name: each
    for each in (
        Reading(
            "announced-again",
            "cat-classic/receive.announce-again",
            "A copy of a transaction in the pool is announced again.",
            lambda protocol: protocol.with_rule("take_new", announce_again),
        ),
        Reading(
            "own-pushed",
            "cat/submit.push",
            "A user's transaction is pushed to all peers, and not announced.",
            lambda protocol: protocol.with_rule("announce_own", push_by_the_text),
        ),
    )
}
