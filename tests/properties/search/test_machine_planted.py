"""A search tells planted bugs by the names of the edits that were written for what they do."""

from __future__ import annotations

import pytest

from quidnunc.properties.mutants import mutant_named, protocol_of_mutant
from quidnunc.properties.search.machine import FindingSearch, search
from tools.mutation.mutants import hello_of_mutant, opener_of
from tools.reported import rows_reported

RUNS, SEED = 60, 17
TOLD = {
    "backoff-overwritten": "backoff-shortened",
    "ignored-penalised": "ignored-penalised",
    "opportunistic-equals": "opportunistic-at-median",
    "promise-never-broken": "tracks-no-promise",
    "promise-kept-by-its-maker": "promise-kept-by-maker-alone",
    "bad-copy-is-seen": "marks-seen-flawed",
    "idontwant-late": "idontwant-waits-for-heartbeat",
    "graft-crossing-pruned": "prunes-already-member",
    "stale-source": "routes-from-lost-kept",
    "cut-all-senders": "havetx-cuts-all-senders",
    "havetx-is-a-duplicate": "havetx-counted-as-duplicate",
    "idle-is-low": "idle-asks-for-route",
    "mass-reset": "loss-resets-all",
    "application-half": "application-halved-in-sum",
    "readmit-committed": "committed-forgotten",
    "go-user-duplicates-counted": "user-duplicates-counted",
    "own-is-filtered": "own-filtered",
    "extensions-again": "extensions-with-each-topic",
    "flags-of-the-first": "keeps-first-flags",
    "parts-await-verdict": "parts-wait-for-verdict",
    "group-kept-by-peers": "group-kept-by-peers",
    "offered-beside-message": "offers-beside-message",
    "idontwant-mutes": "idontwant-keeps-own-messages-back",
    "requests-told-to-all": "requests-told-to-everybody",
    "join-fanout-untold": "join-takes-fanout-untold",
    "fill-one-topic": "fill-to-d-one-topic-by-name",
    "gossip-to-one-more": "more-gossip-adaptively",
    "closes-newest": "closes-newest-protocol",
    "seqno-falls": "everywhere-published-with-stale-seqno",
    "cut-the-other-way": "havetx-cuts-way-back",
    "reset-any-target": "reset-enables-route-to-anybody",
    "cat-holders-outlive-connections": "announcers-outlive-connections",
    "cat-asks-for-what-it-has": "pooled-asked-of-each-announcer",
    "cat-asks-anybody": "sources-of-all",
    "limit-ignored": "forwards-past-slots",
    "test-to-all": "test-sent-to-all",
    "requesters-starved": "requesters-get-no-full-messages",
    "topic-cap-both-ways": "topics-capped-both-ways",
    "deficit-linear": "deficit-unsquared",
    "deficit-from-the-start": "deficit-from-the-start",
    "idontwant-enforced": "idontwant-enforced",
    "cache-shifted-twice": "cache-shifted-twice",
    "join-takes-one": "join-grafts-one",
    "grafts-shared": "grafts-shared",
    "px-of-the-pruned": "offers-the-pruned",
    "malformed-closes-all": "malformed-closes-all",
    "cat-takes-unasked": "takes-in-transactions-that-it-has-not-asked-for",
}
"""Planted bug -> the edit that says what it does."""


@pytest.mark.parametrize("name", TOLD)
def test_it_is_told_by_its_name_and_nothing_is_left_unexplained(name: str) -> None:
    protocol = protocol_of_mutant(mutant_named(name))
    hunt = FindingSearch(protocol, opener_of(name), hello_of_mutant(name, protocol))
    search(hunt, runs=RUNS, seed=SEED)
    rows = rows_reported(hunt, f"ours:{name}")
    assert TOLD[name] in [row.quirk for row in rows]
    assert not [row.quirk for row in rows if row.kind == "unexplained"]
