"""How the statements of each catalogue are decided, and what its page begins with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from attrs import frozen

from tools.decide.runs import WorldSearchResult, by_hypothesis, walks

DOG_HEAD = """\
<!-- Written by `make regenerate` (PARTS=statements). Change what writes it, not this page. -->
# What the documents about Flood, DOG, CAT and the peer limit say, decided

Fifty-two statements that the documents make or rely on, or that we ask. Each is decided for every revision
that has a model, by searching small networks of model nodes with messages in flight. This page is written by

    python -m tools.decide dog

which judges the recorded runs again; with `--search` it searches anew.

*Refuted n*: a run of n acts breaks it. With =, no shorter run in that network does; without it, n is the
shortest run that was found. *Not refuted*: by so many drawn runs, nor by any run of up to so many acts in the
named network (*any*, where all its states were gone through). That is no proof. Whether a statement that is
not refuted could have been is shown by planted edits of the protocol that the same search refutes
(`tests/properties/statements/test_dog.py`). *Never put to the test*: no drawn run had what the statement is
about. An empty field: the statement is not about that revision.

*What the text says*: the sentence that a statement is about, word for word, and where it stands. If a
statement names no sentence, it is the first one that is quoted for one of its clauses. "Ours": no document
says it; to refute it refutes an expectation, and no sentence.

In a run `submit A t1` is a user's submission of t1 at A, `offer A` that A offers the next of its pool,
`deliver A>B` that B takes the oldest message of A, `adjust A` that the controller of A runs, `leave A` that
A leaves, `notice B A` that B notices it, `join A B,C` that A joins, `wait A 200ms` that time passes,
`say D>C tx t1` that D, who need not be honest, says so to C, `commit A t1` that a block takes t1 out of A's
pool, `disconnect A-B` and `connect A>B` that their connection breaks and is made again. `begin A>B` and
`begin A` are races within a node. After `begin A>B`, B's routine for A has stopped at a point where another
routine can run, and `deliver A>B` finishes it. After `begin A`, the controller of A has read its counters,
and `adjust A` finishes the adjustment. Behind ` | ` stand the choices that are not the first ones: whom a
controller asks (`reset.target`), which disabled routes are kept (`routes.kept`).

"Then rounds": for ever after, users submit (at one node, at all or nowhere), all queues are emptied, every
controller runs and asks its peers in turn, all queues are emptied; and after some rounds the network is as
it was. If a node has one queue for all links, a ResetRoute that `dog-quint` cannot take keeps what is
behind it for ever.

Transactions leave the pool, and requests expire, in the places that say so. Races within a node are looked
at for `dog-go` and `cat-classic-go` alone, in the places that say "routines side by side": whether HaveTx or
WantTx may be said is read before it is said, the number of routes is counted before it is reported, and
counters are read before they are set to 0. The published specification takes each of these as one step.

Not modelled: that the Go node offers to each peer in a routine of its own (a node offers to all its peers in
one step), time except for requests that expire, and caches and pools that are full.

Networks: a pair; lines, rings and stars; the kite is a ring of three (B, C, D) with A at B. What moves at
once in the model moves in steps here: a node offers its pool later than it takes a transaction in, and
links are first in, first out. For `dog-quint` and `dog-quint-run` all links to a node are one queue, and
who leaves keeps its state, as dog.md has it; for the others a broken connection loses what is on it, and
who comes back has started anew. `cat-classic-go` is classic CAT as the Go node has it, by its code: it
announces what it finds in its pool as well.
"""

GOSSIPSUB_HEAD = """\
<!-- Written by `make regenerate` (PARTS=statements). Change what writes it, not this page. -->
# What the documents about gossipsub say or rely on, decided

126 statements, some read in two ways. Each is decided for every revision that it is about, by an engine that
can. This page is written by

    python -m tools.decide gossipsub

which judges the recorded runs of networks again; with `--search` it searches small networks anew, and with
`--routers 300` it checks our router anew.

*Refuted n*: a run of n acts in a small network of model routers breaks it. With =, no shorter run in that
network does; without it, n is the shortest run that was found. *Not refuted*: by so many runs that Hypothesis
drew, nor by any run of up to so many acts in the named network (*any*, where all its states were gone
through). *Ours*: our router, beside the model, in so many runs, and how often the least applied of its
claims applied. Neither is a proof. Whether a statement that is not refuted could have been is
shown by planted edits of the protocol that the same search refutes
(`tests/properties/statements/test_gossipsub.py`), and for the claims of one router by the mutants of
`quidnunc routers`. *Never put to the test*: no drawn run had what the statement is about. An empty field:
the statement is not about that revision.

*What the text says*: the sentence that a statement is about, word for word, and where it stands. If a
statement names no sentence, it is the first one that is quoted for one of its clauses. "Ours": no document
says it; to refute it refutes an expectation, and no sentence.

Networks: a pair; lines, rings and stars of three and four; cliques. Routers are those of the model. What
one event makes a router send to one peer leaves at once and in one RPC; links are first in, first out, and
how long an RPC is on its way is free; all nodes have one clock, and their heartbeats at different tenths of
its seconds. Every freedom that a text leaves (whom to graft, to cut, to gossip to; whether to say
IDONTWANT) is a choice, and behind ` | ` stand those that are not the first ones. A connection breaks for
both ends at once. Meshes are of one or two members, backoffs of three seconds.

{figures}

Not modelled: queues that drop, frames, RPCs to one peer that overtake each other, control that waits to be
piggybacked, clocks that drift.
"""


@frozen
class Effort:
    """How much is searched in each place."""

    states: int
    runs: int
    length: int
    """Of a drawn run, in acts."""


Search: TypeAlias = Callable[..., WorldSearchResult]
"""(world, look, runs, length): draws runs."""


@frozen(kw_only=True)
class DecisionPlan:
    """How statements about one family of protocols are decided and shown."""

    search: Search
    effort: Effort
    effort_of_rounds: Effort
    shown_in: str = ""
    """The revision whose runs are made cases of; none for every run that differs."""
    head: str
    """What the page begins with, with `{figures}` where what was run is told."""


PLANS: Mapping[str, DecisionPlan] = {
    "dog": DecisionPlan(
        search=walks,
        effort=Effort(1500, 60, 40),
        effort_of_rounds=Effort(200, 12, 18),
        shown_in="dog",
        head=DOG_HEAD,
    ),
    "gossipsub": DecisionPlan(
        search=by_hypothesis,
        effort=Effort(1500, 40, 25),
        effort_of_rounds=Effort(100, 6, 25),
        head=GOSSIPSUB_HEAD,
    ),
}
"""Name of a catalogue -> its plan."""
