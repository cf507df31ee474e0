"""The clause tables: complete, well-formed, and refused by file and clause where they are not."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from pathlib import Path

import pytest

import quidnunc.model
from quidnunc.model.edits.catalogue import edits_of
from quidnunc.model.edits.readings import NARROWED
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.rules import Rule
from quidnunc.properties.claims.tables import ALL
from quidnunc.properties.documents import clauses
from quidnunc.properties.documents.clauses import GROUNDS, Clause, documents, load, parse, sentences

REFS = """
    PS-STREAM-1 PS-STREAM-2 PS-RPC-1 PS-RPC-2 PS-SUB-1 PS-SUB-2 PS-SUB-3 PS-SUB-4 PS-SUB-5 PS-MSG-1 PS-MSG-2
    PS-MSG-3 PS-MSG-4 PS-MSG-5 PS-MSG-6 PS-ID-1 PS-ID-2 PS-ID-3 PS-ID-4 PS-ID-5 PS-SIGN-1 PS-SIGN-2 PS-SIGN-3
    PS-SIGN-4 PS-SIGN-5 PS-SIGN-6 PS-SIGN-7 PS-SS-1 PS-SS-2 PS-SS-3 PS-SNS-1 PS-SNS-2 PS-SNS-3 PS-LAX-1
    PS-LAX-2 PS-LAX-3 PS-VAL-1 PS-VAL-2 PS-VAL-3 PS-VAL-4 PS-TD-1 PS-GEN-1 PS-GEN-2

    FS-1 FS-2 FS-3 FS-4 FS-5 FS-6

    GS10-PROTO-1 GS10-STATE-1 GS10-STATE-2 GS10-JOIN-1 GS10-JOIN-2 GS10-JOIN-3 GS10-LEAVE-1 GS10-PAY-1
    GS10-PAY-2 GS10-PAY-3 GS10-PAY-4 GS10-PAY-5 GS10-GRAFT-1 GS10-GRAFT-2 GS10-GRAFT-3 GS10-PRUNE-1
    GS10-PRUNE-2 GS10-IHAVE-1 GS10-IHAVE-2 GS10-IWANT-1 GS10-IWANT-2 GS10-PUB-1 GS10-PUB-2 GS10-PUB-3
    GS10-PUB-4 GS10-PIGGY-1 GS10-HB-1 GS10-HB-2 GS10-HB-3 GS10-HB-4 GS10-HB-5 GS10-HB-6 GS10-GOSSIP-1
    GS10-GOSSIP-2 GS10-GOSSIP-3 GS10-MC-1 GS10-MC-2 GS10-MC-3 GS10-SEEN-1 GS10-SYM-1 GS10-NODE-1

    GS11-EXP-1 GS11-EXP-2 GS11-EXP-3 GS11-EXP-4 GS11-EXP-5 GS11-EXP-6 GS11-BO-1 GS11-BO-2 GS11-BO-3 GS11-BO-4
    GS11-BO-5 GS11-BO-6 GS11-BO-7 GS11-PX-1 GS11-PX-2 GS11-PX-3 GS11-PX-4 GS11-PX-5 GS11-FP-1 GS11-FP-2
    GS11-FP-3 GS11-AG-1 GS11-DO-1 GS11-DO-2 GS11-DO-3 GS11-DO-4 GS11-SC-1 GS11-SC-2 GS11-TH-0 GS11-TH-1
    GS11-TH-2 GS11-TH-3 GS11-TH-4 GS11-HB-1 GS11-OG-1 GS11-OG-2 GS11-EV-1 GS11-EV-2 GS11-EV-3 GS11-EV-4
    GS11-SP-1 GS11-SP-2 GS11-SP-3 GS11-SP-4 GS11-SP-5 GS11-BOOT-1 GS11-COMPAT-1 GS11-P1 GS11-P2 GS11-P3
    GS11-P3b GS11-P4 GS11-P5 GS11-P6 GS11-P7 GS11-DEC GS11-RET GS11-W

    GS12D-ID-1 GS12D-SND-1 GS12D-SND-2 GS12D-RCV-1 GS12D-RCV-2 GS12D-RCV-3 GS12D-OPT-1 GS12D-SIZE-1
    GS12D-DOS-1 GS12D-STRAT-1 GS12D-STRAT-2 GS12D-CANCEL-1 GS12D-PB-1

    GS12R-ID-1 GS12R-SND-1 GS12R-SND-2 GS12R-SND-3 GS12R-SND-4 GS12R-RCV-1 GS12R-RCV-2 GS12R-RCV-3
    GS12R-RCV-4 GS12R-RCV-5 GS12R-RCV-6 GS12R-SIZE-1 GS12R-DOS-1 GS12R-CANCEL-1 GS12R-CANCEL-2 GS12R-PB-1
    GS12R-PB-2

    FL-ST-1 FL-ST-2 FL-ST-3 FL-IN-1 FL-RX-1 FL-RX-2 FL-RX-3 FL-RX-4 FL-RX-5 FL-RX-6 FL-RX-7 FL-TX-1 FL-TX-2
    FL-TX-3 FL-TX-4 FL-TX-5 FL-TX-6 FL-TX-7 FL-ERR-1 FL-SY-1 FL-NET-1 FL-CFG

    DOG-MSG-1 DOG-MSG-2 DOG-MSG-3 DOG-MSG-4 DOG-ST-1 DOG-ST-2 DOG-ST-3 DOG-PR-1 DOG-PR-2 DOG-PR-3 DOG-PR-4
    DOG-PR-5 DOG-RX-1 DOG-RX-2 DOG-RX-3 DOG-RX-4 DOG-RX-5 DOG-RX-6 DOG-RX-7 DOG-HT-1 DOG-HT-2 DOG-HT-3
    DOG-HT-4 DOG-HT-5 DOG-RR-1 DOG-RR-2 DOG-RR-3 DOG-TX-1 DOG-TX-2 DOG-TX-3 DOG-TX-4 DOG-RC-1 DOG-RC-2
    DOG-RC-3 DOG-RC-4 DOG-RC-5 DOG-RC-6 DOG-RC-7 DOG-RC-8 DOG-RC-9 DOG-PD-1 DOG-PD-2 DOG-PD-3 DOG-PD-4
    DOG-PD-5 DOG-MET-1 DOG-MIX-1

    CATC-ST-1 CATC-MSG-1 CATC-RPC-1 CATC-TXS-1 CATC-TXS-2 CATC-TXS-3 CATC-SEEN-1 CATC-SEEN-2 CATC-WANT-1
    CATC-WANT-2 CATC-TO-1 CATC-PD-1 CATC-JOIN-1 CATC-LAG-1 CATC-SPEC-1

    CATH-RPC-1 CATH-TXS-1 CATH-SEEN-1 CATH-SEEN-2 CATH-REQ-1

    GS13-ID-1 GS13-EXT-1 GS13-EXT-2 GS13-EXT-3 GS13-EXT-4 GS13-EXT-5 GS13-EXT-6 GS13-PB-1 GS13-PB-2
    GS13-PB-3 GS13-PB-4 GS13-PB-5 GS13-TEST-1 GS13-DOWN-1 GS13-MIS-1

    PM-PB-1 PM-GRP-1 PM-ENC-1 PM-META-1 PM-META-2 PM-META-3 PM-META-4 PM-META-5 PM-MESH-1 PM-SUB-1 PM-SUB-2
    PM-SUB-3 PM-SUB-4 PM-SUB-5 PM-SUB-6 PM-SND-1 PM-SND-2 PM-SND-3 PM-SND-4 PM-SND-5 PM-SND-6 PM-RCV-1
    PM-RCV-2 PM-GOS-1 PM-GOS-2 PM-APP-1 PM-APP-2 PM-APP-3 PM-DOS-1 PM-EAGER-1 PM-IHAVE-1 PM-MIN-1 PM-UP-1
    PM-ONLY-1 PM-SCORE-1

    JVM-5.1 JVM-5.2 JVM-5.3 JVM-6.1 JVM-6.2 JVM-6.3 JVM-6.4 JVM-7.7 JVM-4.2 JVM-4.3 JVM-7.3 JVM-7.6
    JVM-4.4 JVM-7.1

    GO-IDW GO-OFFER GO-GOSSIP GO-TTL GO-CAP GO-LEAVE GO-STATE GO-SCORE

    CATC-ST-1 CATC-MSG-1 CATC-RPC-1 CATC-TXS-1 CATC-TXS-2 CATC-TXS-3 CATC-SPEC-1 CATC-SEEN-1 CATC-SEEN-2
    CATC-WANT-1 CATC-WANT-2 CATC-TO-1 CATC-PD-1 CATC-JOIN-1 CATC-LAG-1

    CATH-RPC-1 CATH-TXS-1 CATH-SEEN-1 CATH-SEEN-2 CATH-REQ-1

    PL-1 PL-2 PL-3 PL-4 PL-5 PL-6 PL-7 PL-8
""".split()
"""The rows of the catalogue that the tables were made from, by document."""

REF_PREFIXES = {
    "pubsub": "PS",
    "floodsub": "FS",
    "gossipsub-1.0": "GS10",
    "gossipsub-1.1": "GS11",
    "gossipsub-1.2-draft": "GS12D",
    "gossipsub-1.2": "GS12R",
    "gossipsub-1.3": "GS13",
    "partial-messages": "PM",
    "partial-messages-jvm": "JVM",
    "partial-messages-go": "GO",
    "flood": "FL",
    "dog": "DOG",
    "cat-classic": "CATC",
    "cat": "CATH",
    "peer-limit": "PL",
}

GOOD = """
[document]
name = "some-doc"
prefix = "some"
title = "Some protocol"
revision = "r1"
date = "2024-02-29"
source = "somebody, some.md"

[[clause]]
id = "some/graft.accept"
ref = "SD-1"
keyword = "none"
basis = "algorithm"
status = "ruled"
text = "A GRAFT is accepted."
quote = "It is accepted, i.e. taken in. Always."
violation = "A GRAFT is refused."

[[clause]]
id = "some/score.decay"
ref = "SD-2"
keyword = "none"
basis = "permission"
status = "not-modelled"
reason = "Later."
text = "A score may decay."
violation = "None."
"""


@pytest.fixture(scope="module")
def table() -> Mapping[str, Clause]:
    return load()


def of_document(table: Mapping[str, Clause], name: str) -> list[Clause]:
    return [clause for clause in table.values() if clause.document == name]


# -- the tables that ship ----------------------------------------------------------------------------------


def test_every_document_is_there() -> None:
    assert set(REF_PREFIXES) - set(documents()) == set()
    prefixes = [document.prefix for document in documents().values()]
    assert len(set(prefixes)) == len(prefixes)


def test_every_row_of_the_catalogue_has_a_clause(table: Mapping[str, Clause]) -> None:
    assert set(REFS) - {clause.ref for clause in table.values()} == set()


@pytest.mark.parametrize("name", REF_PREFIXES)
def test_clauses_stand_in_the_table_of_their_document(name: str, table: Mapping[str, Clause]) -> None:
    here = of_document(table, name)
    assert here
    assert {clause.ref.split("-")[0] for clause in here} == {REF_PREFIXES[name]}
    assert {clause.id.split("/")[0] for clause in here} == {documents()[name].prefix}


def test_what_is_not_ruled_says_why(table: Mapping[str, Clause]) -> None:
    for clause in table.values():
        assert clause.status in {"ruled", "by-construction", "exception", "not-modelled"}
        if clause.status in {"exception", "not-modelled"}:
            assert len(clause.reason) > 20, clause.id


def test_levels_are_those_of_the_documents(table: Mapping[str, Clause]) -> None:
    assert {clause.level for clause in table.values()} == {"M", "S", "Y", "I"}
    assert table["gs1.2/idontwant.skip"].ground == "MUST"
    draft = table["gs1.2-draft/idontwant.may-skip"]
    assert (draft.level, draft.ground, draft.optional) == ("I", "the text permits it", True)
    regraft = table["gs1.1/backoff.regraft"]
    assert (regraft.keyword, regraft.ground, regraft.breach) == ("none", "the algorithm does", "fails")
    eight = table["gs1.1/iwant.retransmission"]
    assert (eight.ground, eight.breach) == ("by common practice", "observed")


def test_a_keyword_is_in_capitals_in_the_words_of_the_text(table: Mapping[str, Clause]) -> None:
    """Version 1.0 and 1.1 of gossipsub have no keyword at all, 1.2 has one MUST."""
    with_one = [clause for clause in table.values() if clause.keyword != "none"]
    assert len(with_one) > 50
    for clause in with_one:
        words = " ".join(f"{clause.quote} {clause.phrase}".split())
        assert clause.keyword in words, clause.id
        assert clause.ground == clause.keyword
    documents_without = {"gossipsub-1.0", "gossipsub-1.1", "gossipsub-1.2-draft", "floodsub", "flood", "dog"}
    assert documents_without.isdisjoint(clause.document for clause in with_one)
    musts = [c.id for c in with_one if c.document == "gossipsub-1.2" and c.level == "M"]
    assert musts == ["gs1.2/idontwant.skip"]


def test_nothing_without_the_word_is_told_as_a_must(table: Mapping[str, Clause]) -> None:
    for clause in table.values():
        if clause.keyword == "none":
            assert clause.level == "I" and clause.ground in GROUNDS.values(), clause.id


def test_quotes_are_short_and_bare(table: Mapping[str, Clause]) -> None:
    quotes = {clause.id: clause.quote for clause in table.values() if clause.quote}
    assert len(quotes) > 100
    for clause_id, quote in quotes.items():
        assert sentences(quote) <= 2, clause_id
        marks = [mark for mark in ("`", "|", "](", "**", "\n") if mark in quote]
        assert not marks, f"{clause_id}: markup in the quote"


def test_a_paraphrase_is_not_a_quote(table: Mapping[str, Clause]) -> None:
    for clause in table.values():
        assert clause.text != clause.quote, clause.id
        assert clause.text.endswith(".") and sentences(clause.text) <= 2, clause.id
        assert clause.violation.endswith("."), clause.id


def test_both_readings_of_the_idontwant_contradiction_are_marked(table: Mapping[str, Clause]) -> None:
    assert table["gs1.2/idontwant.skip"].disputed and table["gs1.2/idontwant.receiver-optional"].disputed


def test_the_table_is_read_once_and_cannot_be_changed(table: Mapping[str, Clause]) -> None:
    assert load() is table
    with pytest.raises(TypeError):
        table["gs1.0/graft.accept"] = table["gs1.0/prune.remove"]  # type: ignore[index]


# -- the rules of the model --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ruled() -> set[str]:
    """The clauses that a rule of some protocol is named for. A rule that no protocol has decides nothing."""
    return {rule.clause for protocol in PROTOCOLS.values() for _, rule in protocol.rules()}


def test_every_rule_is_in_a_protocol() -> None:
    """As it stands, or under an edit: a rule that none has decides nothing, whatever clause it names."""
    forms = list(PROTOCOLS.values())
    for protocol in PROTOCOLS.values():
        forms += filter(
            None, (edit.applied_to(protocol) for edit in (*edits_of(protocol), *NARROWED.values()))
        )
    used = {rule.apply for form in forms for _, rule in form.rules()}
    unused = [
        f"{module.name}.{name}"
        for module in pkgutil.walk_packages(quidnunc.model.__path__, "quidnunc.model.")
        for name, value in vars(importlib.import_module(module.name)).items()
        if isinstance(value, Rule) and value.apply not in used
    ]
    assert unused == []


def test_every_rule_is_named_for_a_clause(ruled: set[str], table: Mapping[str, Clause]) -> None:
    ours = {clause_id for clause_id in ruled if clause_id.startswith("kit/")}
    assert ruled - ours - set(table) == set()


def test_every_ruled_clause_has_a_rule_or_a_carrier(ruled: set[str], table: Mapping[str, Clause]) -> None:
    without = [
        clause.id
        for clause in table.values()
        if clause.status == "ruled" and not {clause.id, clause.carried_by} & ruled
    ]
    assert without == []


def test_carriers_have_rules_or_claims(ruled: set[str], table: Mapping[str, Clause]) -> None:
    claimed = {clause for claim in ALL for clause in claim.clauses}
    carried = [clause for clause in table.values() if clause.carried_by]
    assert len(carried) > 10
    for clause in carried:
        enough = ruled if clause.status == "ruled" else ruled | claimed
        assert clause.carried_by in enough, clause.id


# -- tables that are wrong ---------------------------------------------------------------------------------


def test_a_good_table_reads() -> None:
    document, (first, second) = parse("some-doc", GOOD)
    assert (document.prefix, document.date) == ("some", "2024-02-29")
    assert (first.id, first.keyword, first.basis, first.document) == (
        "some/graft.accept",
        "none",
        "algorithm",
        "some-doc",
    )
    assert (second.reason, second.quote, second.phrase, second.carried_by) == ("Later.", "", "", "")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("[document]", "[docment]", "some-doc.toml: unknown table 'docment'"),
        ("[document]", "[document", "some-doc.toml: not TOML"),
        ('name = "some-doc"', 'name = "other"', "[document]: name is 'other', the file's is 'some-doc'"),
        ('title = "Some protocol"\n', "", "[document]: field 'title' is missing"),
        ('date = "2024-02-29"', 'date = "29 February"', "[document]: date is '29 February'"),
        ('id = "some/graft.accept"\n', "", "some-doc.toml: clause 1: field 'id' is missing"),
        ('id = "some/graft.accept"', "id = 7", "some-doc.toml: 7: field 'id' is 7, needed is a filled str"),
        ("some/graft.accept", "other/graft.accept", "the id must be some/topic.short-name"),
        ("some/graft.accept", "some/graft", "some/graft: the id must be"),
        ("some/graft.accept", "some/graft.accept-", "some/graft.accept-: the id must be"),
        ("some/graft.accept", "some/graft.rule2", "some/graft.rule2: the id must be"),
        ("some/score.decay", "some/graft.accept", "some-doc.toml: some/graft.accept is there twice"),
        ('ref = "SD-1"\n', "", "some/graft.accept: field 'ref' is missing"),
        ('text = "A GRAFT is accepted."\n', "", "some/graft.accept: field 'text' is missing"),
        ('text = "A GRAFT is accepted."', 'text = ""', "some/graft.accept: field 'text' is ''"),
        (
            'keyword = "none"',
            'keyword = "M"',
            "some/graft.accept: keyword is 'M', allowed are MUST, MUST NOT",
        ),
        ('"algorithm"', '"habit"', "some/graft.accept: basis is 'habit', allowed are sentence, advice"),
        (
            'keyword = "none"',
            'keyword = "MUST"',
            "a keyword stands in a sentence, but the basis is algorithm",
        ),
        (
            'keyword = "none"\nbasis = "algorithm"',
            'keyword = "MUST"\nbasis = "sentence"',
            "some/graft.accept: neither quote nor phrase has MUST in capitals",
        ),
        ('basis = "algorithm"', 'basis = "algorithm"\nphrase = "It MUST."', "and the keyword is none"),
        ('basis = "algorithm"', 'basis = "algorithm"\nphrase_in = "r2"', "there is no phrase"),
        ('status = "ruled"', 'status = "done"', "some/graft.accept: status is 'done', allowed are ruled"),
        ('status = "ruled"', 'status = "exception"', "some/graft.accept: status exception needs a reason"),
        ('reason = "Later."', 'severity = "low"', "some/score.decay: unknown field 'severity'"),
        ('reason = "Later."\n', "", "some/score.decay: status not-modelled needs a reason"),
        ('reason = "Later."', 'document = "x"', "some/score.decay: unknown field 'document'"),
        (
            'reason = "Later."',
            'carried_by = "some/graft.accept"',
            "carried_by is for what is ruled or holds by",
        ),
        ("in. Always.", "in. Always. Ever.", "some/graft.accept: 3 sentences are quoted, at most 2"),
    ],
)
def test_a_wrong_table_is_refused_by_file_and_clause(old: str, new: str, complaint: str) -> None:
    assert old in GOOD
    with pytest.raises(SpecError) as refused:
        parse("some-doc", GOOD.replace(old, new))
    assert str(refused.value).startswith("clauses/some-doc.toml: ")
    assert complaint in str(refused.value)


@pytest.mark.parametrize("text", ["", GOOD.partition("[[clause]]")[0], 'document = "x"\nclause = []\n'])
def test_a_table_without_document_or_clauses_is_refused(text: str) -> None:
    with pytest.raises(SpecError, match=r"needs one \[document\] table and at least one \[\[clause\]\]"):
        parse("some-doc", text)


def test_a_row_that_is_no_table_is_refused() -> None:
    with pytest.raises(SpecError, match="clause 2 is no table"):
        parse("some-doc", f'clause = [{_inline_clause()}, "x"]' + GOOD.partition("[[clause]]")[0])


def _inline_clause() -> str:
    pairs = {
        "id": "some/graft.accept",
        "ref": "SD-1",
        "keyword": "none",
        "basis": "algorithm",
        "status": "ruled",
        "text": "T.",
    }
    return "{" + ", ".join(f'{k} = "{v}"' for k, v in {**pairs, "violation": "V."}.items()) + "}"


def _load_from(folder: Path, tables: Mapping[str, str], patch: pytest.MonkeyPatch) -> Mapping[str, Clause]:
    """`load` of a package that ships `tables` only, past its cache."""
    (folder / "clauses").mkdir()
    for name, text in tables.items():
        (folder / "clauses" / f"{name}.toml").write_text(text, encoding="utf-8")
    patch.setattr(clauses, "files", lambda package: folder)
    patch.setattr(clauses, "_tables", clauses._tables.__wrapped__)
    return load.__wrapped__()


def test_an_id_in_two_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twin = GOOD.replace('name = "some-doc"', 'name = "twin"')
    with pytest.raises(SpecError, match=r"twin\.toml: some/graft\.accept is in some-doc\.toml already"):
        _load_from(tmp_path, {"some-doc": GOOD, "twin": twin}, monkeypatch)


@pytest.mark.parametrize(
    ("carrier", "complaint"),
    [
        ("some/graft.unknown", "carried_by names 'some/graft.unknown', which no file has"),
        ("some/score.decay", "carried_by names some/score.decay, which has no rule of its own"),
        ("some/graft.accept", "carried_by names some/graft.accept, which has no rule of its own"),
    ],
)
def test_a_carrier_must_have_a_rule_of_its_own(
    carrier: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = GOOD.replace('status = "ruled"', f'status = "ruled"\ncarried_by = "{carrier}"')
    with pytest.raises(SpecError) as refused:
        _load_from(tmp_path, {"some-doc": text}, monkeypatch)
    assert str(refused.value) == f"clauses/some-doc.toml: some/graft.accept: {complaint}"


def test_a_package_without_its_tables_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match="no clause tables in .*: the package data is missing, reinstall"):
        _load_from(tmp_path, {}, monkeypatch)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("One", 1),
        ("One. Two!", 2),
        ("It is so, i.e. one; e.g. this one.", 1),
        ("Optional. I.e. the sender may.", 2),
        ("Is it? It is. So.", 3),
        ("Default of 2.5 seconds.", 1),
    ],
)
def test_sentences_are_counted(text: str, count: int) -> None:
    assert sentences(text) == count


@pytest.mark.parametrize(
    ("clause", "basis"),
    [
        ("gs1.1/backoff.unsubscribe", "permission"),
        ("gs1.1/explicit.reconnect", "sentence"),
        ("gs1.1/explicit.reconnect-period", "advice"),
        ("gs1.1/px.record-valid", "convention"),
        ("gs1.2-draft/idontwant.no-penalty", "advice"),
        ("dog/peer.reset-not-to-lost", "convention"),
        ("cat-classic/receive.origin-field", "advice"),
        ("peer-limit/slot.held", "convention"),
        ("gs1.0/gossip.no-empty", "pseudo-code"),
        ("dog/controller.reset", "pseudo-code"),
        ("dog/controller.unblock", "pseudo-code"),
        ("gs1.1/validation.accept", "algorithm"),
        ("gs1.1/validation.reject-penalised", "advice"),
        ("gs1.1/score.topics", "sentence"),
        ("pubsub/id.same-everywhere", "sentence"),
    ],
)
def test_the_basis_is_what_the_words_say(clause: str, basis: str) -> None:
    assert load()[clause].basis == basis


def test_a_basis_that_another_document_has_is_stated() -> None:
    for clause in ("dog/controller.reset", "dog/controller.unblock"):
        assert "The prose of dog.md has 'should'" in load()[clause].dispute_about("never")
    assert "once it is triggered again" in load()["dog/havetx.then-blocked"].disputed


def test_what_is_not_checked_says_so() -> None:
    for clause in ("gs1.0/mesh.mutual", "gs1.0/join.random"):
        assert (load()[clause].status, bool(load()[clause].reason)) == ("exception", True)
    assert not load()["gs1.1/backoff.announced-period"].violation.startswith("A GRAFT to the pruner at")
