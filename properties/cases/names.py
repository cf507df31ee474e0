"""The names that a file of a user may hold, and what is said of one that there is not.

A typo in the name of a clause or of a claim changes nothing that is played. Unless it is refused, the file
goes on being about something that does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.errors import SpecError, near_word
from quidnunc.model.events import Connect
from quidnunc.model.machine import mempool_streams, protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.model.versions import STREAMS
from quidnunc.properties.cases.case import Case
from quidnunc.properties.documents.clauses import load as clauses


def wrong_clause(name: str, own: Collection[str] = ()) -> str:
    """What is wrong with the name of a clause; empty where there is such a clause, in the tables or in `own`
    rules of the user."""
    known = (*clauses(), *own)
    if name in known:
        return ""
    return f"no clause {name!r}{near_word(name, known)}; `quidnunc clauses` lists the clauses"


@lru_cache(maxsize=1)
def claim_names() -> frozenset[str]:
    """All that a case may be about: claims, statements, and refuted lines of `quidnunc prove`.

    A departure from a clause that no claim rests on goes by the name of the clause.
    """
    # Only who reads a file needs these tables; they take a while to load.
    from quidnunc.properties.claims.elsewhere import HELD
    from quidnunc.properties.claims.tables import ALL
    from quidnunc.properties.statements.catalogue import ALIASES, STATEMENTS
    from quidnunc.properties.statements.line_claims import MEMPOOL, PUBSUB

    of_claims = {claim.id for claim in ALL} | HELD.keys()
    of_statements = {each.id for each in STATEMENTS} | ALIASES.keys()
    return frozenset(of_claims | of_statements | PUBSUB.keys() | MEMPOOL.keys() | clauses().keys())


def wrong_claim(name: str) -> str:
    """What is wrong with the name of a claim; empty where there is such a claim."""
    known = claim_names()
    if name in known:
        return ""
    near = near_word(name, sorted(known - clauses().keys()))
    return f"no claim {name!r}{near}; `quidnunc clauses PROTOCOL` lists the claims of a protocol"


@lru_cache(maxsize=64)
def _named_by(protocol: str) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Of a protocol: the claims of it, the clauses that these ask, and the prefixes of the documents that it
    has rules of."""
    from quidnunc.properties.claims.catalogue import claims_of, clauses_asked, clauses_of

    rules = protocol_named(protocol)
    claims = claims_of(rules)
    asked = frozenset(clause for each in claims for clause in clauses_asked(each, rules))
    prefixes = frozenset(clause.partition("/")[0] for clause in clauses_of(rules))
    return frozenset(each.id for each in claims), asked, prefixes


def _of_another(name: str, case: Case) -> str:
    """What is wrong with a claim or a clause that there is, in a case of other protocols; empty where one of
    its protocols has it. A clause is also of a protocol that has rules of others of its document."""
    from quidnunc.properties.claims.tables import ALL

    of_each = [_named_by(protocol) for protocol in case.protocols]
    prefix, slash, _ = name.partition("/")
    these, first = " or ".join(case.protocols), case.protocol
    # What a router sends that nothing permits is told by the clause on it, which may be of a later protocol.
    surplus = any(each.side == "router" for block in case.blocks for each in block.shown)
    if (
        slash
        and not surplus
        and not any(prefix in prefixes or name in asked for _, asked, prefixes in of_each)
    ):
        known = ", ".join(sorted(frozenset[str]().union(*(prefixes for _, _, prefixes in of_each))))
        return (
            f"{name} is no clause of {these}, whose clauses begin with {known}; "
            f"`quidnunc clauses {first}` lists them"
        )
    known_claims = sorted(frozenset[str]().union(*(claims for claims, _, _ in of_each)))
    if not slash and name not in known_claims and any(each.id == name for each in ALL):
        near = near_word(name, known_claims)
        return f"{name} is no claim of {these}{near}; `quidnunc clauses {first}` lists the claims"
    return ""


def wrong_names(case: Case) -> Iterator[tuple[str, str]]:
    """(field of the front matter, or the name itself; what is wrong) of each name in a case that there is
    not, or not in its protocols."""
    for field, name, wrong in (
        ("claim", case.claim, wrong_claim(case.claim)),
        ("clause", case.clause, wrong_clause(case.clause)),
    ):
        # A claim about a network may rest on what no rule of a router bears.
        if wrong := wrong or ("" if case.is_network else _of_another(name, case)):
            yield field, wrong
    for field, names in (("quirk", (case.quirk,)), ("as built", case.as_built)):
        for name in filter(None, names):
            try:
                edit_named(name, protocol_named(case.protocol))
            except SpecError as error:
                yield field, f"{error}; `quidnunc explain` knows the edits"
    of_mempool = (stream for protocol in case.protocols for stream in mempool_streams(protocol))
    streams = tuple(dict.fromkeys((*STREAMS, *of_mempool)))
    for name in dict.fromkeys(e.protocol for b in case.blocks for e in b.events if isinstance(e, Connect)):
        if name not in streams:
            yield name, wrong_stream(name, streams)


def wrong_stream(name: str, streams: Collection[str]) -> str:
    """What is said of the name of a stream protocol that is not among `streams`."""
    return f"expected a stream protocol ({', '.join(streams)}), got {name!r}{near_word(name, streams)}"


UNNAMED = ("unexplained", "crash", "pending:", "adds:")
"""How causes begin that are no edits of the specification."""


def wrong_cause(name: str, protocols: Sequence[Protocol]) -> str:
    """What is wrong with the cause of an expectation; empty where an edit of one of the protocols, the ones
    that are tested first, is called so, or what no edit explains."""
    if name.startswith(UNNAMED):
        return ""
    errors = []
    for protocol in protocols:
        try:
            edit_named(name, protocol)
        except SpecError as error:
            errors.append(str(error))
        else:
            return ""
    return f"{errors[0]}; `quidnunc check` without --expect prints the causes" if errors else ""


_ENTRY = re.compile(r"\s*\[\[\s*expect\s*\]\]")


def places_of_entries(path: Path, entries: int) -> Callable[[int, str], str]:
    """A function (entry, from 1; field) -> where that is in a file of expectations: `FILE:LINE: expect 3`.

    The line is that of the field, or of the head of the entry where it has no such field. There is no line
    where the entries are written in a way in which their heads cannot be counted.
    """
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    heads = [number for number, line in enumerate(lines, 1) if _ENTRY.match(line)]

    def place(entry: int, field: str) -> str:
        if len(heads) != entries:
            return f"{path}: expect {entry}"
        start = heads[entry - 1]
        end = heads[entry] if entry < entries else len(lines) + 1
        of_field = re.compile(rf"\s*[\"']?{re.escape(field)}[\"']?\s*=")
        inside = (number for number in range(start, end) if field and of_field.match(lines[number - 1]))
        return f"{path}:{next(inside, start)}: expect {entry}"

    return place
