"""Statements by name: words that name one thing, and the numbers of old."""

from __future__ import annotations

import re

from quidnunc.model.edits.catalogue import edits_of
from quidnunc.model.machine import PROTOCOLS
from quidnunc.properties.cases.file import parse
from quidnunc.properties.claims.elsewhere import HELD
from quidnunc.properties.claims.tables import ALL
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.proofs.prove import provers
from quidnunc.properties.replays.network import replay_network
from quidnunc.properties.statements import line_claims as lines
from quidnunc.properties.statements.catalogue import (
    ALIASES,
    STATEMENTS,
    clauses_of,
    statement_named,
    statements_on,
)
from tests.properties.replays.test_network import TEXT


def test_an_id_is_words_and_names_nothing_else() -> None:
    ids = [each.id for each in STATEMENTS]
    assert len({*ids}) == len(ids) == 178
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*\.[a-z]+(-[a-z]+)*", each) for each in ids)
    edits = {each.name for protocol in PROTOCOLS.values() for each in edits_of(protocol)}
    others = {*provers(), *lines.PUBSUB, *lines.MEMPOOL, *HELD, *(each.id for each in ALL), *edits}
    assert not others & {*ids}


def test_an_old_id_is_understood() -> None:
    assert ALIASES["P-4"] == "routes.change-one-at-a-time" and ALIASES["P04"] == "mesh.graft-is-symmetric"
    assert statement_named("P04") is statement_named("mesh.graft-is-symmetric") is not None
    assert statement_named("P4") is None and len(ALIASES) == len(STATEMENTS)
    found = replay_network(parse(TEXT.replace("mesh.members-announced-the-topic", "P03")))
    assert found.outcome == "same" and found.rewritten == parse(TEXT)


def test_a_statement_rests_on_clauses_that_there_are_and_is_found_by_them() -> None:
    known = load()
    for each in STATEMENTS:
        assert {*clauses_of(each)} <= known.keys(), each.id
        assert all(each in statements_on(clause) for clause in clauses_of(each)), each.id
    without = {each.id for each in STATEMENTS if not clauses_of(each)}
    assert without <= {
        "mesh.clique-is-connected",
        "network.keeps-a-link",
        "robustness.equal-choices-equal-runs",
        "robustness.only-allowed-behaviour",
        "transport.dropped-control-is-repeated",
    }
    assert [each.old_id for each in statements_on("dog/peer.forget-routes")] == ["P-10", "P-24"]
