"""The hundred and twenty statements that the documents of gossipsub make or rely on."""

from __future__ import annotations

from quidnunc.properties.networks.runs import by_hypothesis
from quidnunc.properties.statements.gossipsub import (
    attack,
    backoff,
    gossip,
    idontwant,
    mesh,
    messages,
    partial,
    scores,
)
from quidnunc.properties.statements.gossipsub.revisions import COLUMNS, revision
from quidnunc.properties.statements.statement import Catalogue, Effort

HEAD = """\
<!-- Written by `make regenerate` (PARTS=statements). Change what writes it, not this page. -->
# What the documents about gossipsub say or rely on, decided

A hundred and twenty statements, some read in two ways, each decided for each revision that it is about, by
the engine that can. This page is written by

    python -m tools.decide gossipsub

which judges the recorded runs of networks again; with `--search` it searches small networks anew, and with
`--routers 300` it checks our router anew.

*Refuted n*: a run of n acts in a small network of model routers breaks it; with = where no shorter one does
in its network, otherwise it is the shortest that was found. *Not refuted*: by so many runs that Hypothesis
drew, nor by any run of up to so many acts in the named network (*any*, where all its states were gone
through). *Ours*: our router, beside the model, in so many runs, and how often the claims applied, that of
the claim that applied least. Neither is a proof. Whether a statement that is not refuted could have been is
shown by planted edits of the protocol that the same search refutes
(`tests/properties/statements/test_gossipsub.py`), and for the claims of one router by the mutants of
`quidnunc routers`. *Never put to the test*: no drawn run had what the statement is about. An empty field:
the statement is not about that revision.

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

GOSSIPSUB = Catalogue(
    name="gossipsub",
    statements=(
        *mesh.STATEMENTS,
        *backoff.STATEMENTS,
        *messages.STATEMENTS,
        *gossip.STATEMENTS,
        *idontwant.STATEMENTS,
        *scores.STATEMENTS,
        *partial.STATEMENTS,
        *attack.STATEMENTS,
    ),
    columns=COLUMNS,
    revision=revision,
    search=by_hypothesis,
    effort=Effort(1500, 40, 25),
    effort_of_rounds=Effort(100, 6, 25),
    page="gossipsub-claims.md",
    head=HEAD,
)
