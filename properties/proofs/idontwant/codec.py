"""IDONTWANT on the wire: what a decoder of the draft makes of bytes of r1, and the other way round.

Under one field number the draft has one `messageID` to an entry and r1 has any number of `messageIDs`. A
protobuf decoder of a single field that is there several times takes the last of them, and one of a required
field that is not there refuses all that it is in. So much is taken for granted here; the test of this module
has the protobuf library read the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import frozen

from quidnunc.properties.lazy import z3
from quidnunc.properties.solver.edits import EditableVariants
from quidnunc.properties.solver.questions import SolverSession
from quidnunc.properties.solver.result import ProofResult
from quidnunc.properties.solver.rules import Expression

ENTRIES = 3
IDS = 3
"""To an entry, at most."""
ID_BITS = 4
"""More ids than there are places, so that each may have one of its own."""


@frozen(eq=False)
class EncodedEntry:
    """What an encoder of r1 puts into one entry: the first `count` of `ids`."""

    ids: Sequence[Expression]
    count: Expression

    def says(self, value: Expression) -> Expression:
        return z3.Or(*(z3.And(z3.UGT(self.count, n), each == value) for n, each in enumerate(self.ids)))

    def has(self, count: int) -> Expression:
        return self.count == count


@frozen(eq=False)
class DecodedEntry:
    """What a decoder has of an entry."""

    refuses: Expression
    reads: Callable[[Expression], Expression]
    """Whether it reads this id."""


Decoder = Callable[[EncodedEntry], DecodedEntry]


@frozen(kw_only=True)
class CodecRules:
    """What the decoders do; each switch is a planted error where it is not as here."""

    draft_requires_id: bool = True
    """A draft decoder refuses an entry without an id."""
    r1_reads_first: bool = True
    """An r1 decoder reads the first id of an entry as well."""


DECODERS: Mapping[str, CodecRules] = EditableVariants({"protobuf": CodecRules()})


def by_draft(entry: EncodedEntry) -> DecodedEntry:
    """The last id; an entry without one is refused."""

    def reads(value: Expression) -> Expression:
        return z3.Or(*(z3.And(entry.has(n), entry.ids[n - 1] == value) for n in range(1, IDS + 1)))

    required = z3.BoolVal(DECODERS["protobuf"].draft_requires_id)
    return DecodedEntry(z3.And(required, entry.has(0)), reads)


def by_r1(entry: EncodedEntry) -> DecodedEntry:
    """All of them."""
    read = entry if DECODERS["protobuf"].r1_reads_first else EncodedEntry(entry.ids[1:], entry.count - 1)
    return DecodedEntry(z3.BoolVal(False), read.says)


def entries() -> list[EncodedEntry]:
    """Entries of any ids."""
    return [
        EncodedEntry([z3.BitVec(f"id_{e}_{n}", ID_BITS) for n in range(IDS)], z3.BitVec(f"count_{e}", 3))
        for e in range(ENTRIES)
    ]


def sent_by_r1(said: Sequence[EncodedEntry]) -> Expression:
    """Each id is said once."""
    found = [z3.ULE(entry.count, IDS) for entry in said]
    for e, entry in enumerate(said):
        for n, each in enumerate(entry.ids):
            there = z3.UGT(entry.count, n)
            before = [z3.And(z3.UGT(entry.count, m), entry.ids[m] == each) for m in range(n)]
            before += [other.says(each) for other in said[:e]]
            # Of nothing z3 prints an `and` that cvc5 does not read.
            found += [z3.Implies(there, z3.And(*(z3.Not(one) for one in before)))] if before else []
    return z3.And(*found)


def sent_by_draft(said: Sequence[EncodedEntry]) -> Expression:
    """One id to an entry, and each said once."""
    return z3.And(sent_by_r1(said), *(entry.has(1) for entry in said))


def same(said: Sequence[EncodedEntry], decoder: Decoder) -> Expression:
    """Nothing is refused, and what is read is what was said."""
    readings = [decoder(entry) for entry in said]
    values = [each for entry in said for each in entry.ids]
    alike = [
        z3.Or(*(reading.reads(v) for reading in readings)) == z3.Or(*(entry.says(v) for entry in said))
        for v in values
    ]
    return z3.And(*(z3.Not(reading.refuses) for reading in readings), *alike)


def codec(questions: SolverSession) -> Iterator[ProofResult]:
    """Both directions, and what is lost."""
    said = entries()
    one_each = z3.And(*(entry.has(1) for entry in said))
    yield decided(
        questions,
        "idontwant-codec.draft-reads-r1",
        "r1 bytes read by a draft decoder are what was said exactly if each entry carries one id",
        sent_by_r1(said),
        same(said, by_draft) == one_each,
        met=(one_each, same(said, by_draft)),
        evidence=(
            "of an entry with more ids all but the last are lost, which costs traffic and no delivery",
            "an entry without ids is refused, and with it the RPC that it is in",
        ),
    )
    yield decided(
        questions,
        "idontwant-codec.r1-reads-draft",
        "draft bytes read by an r1 decoder are what was said",
        sent_by_draft(said),
        same(said, by_r1),
        met=(one_each,),
    )


def decided(
    questions: SolverSession,
    name: str,
    text: str,
    premise: Expression,
    conclusion: Expression,
    *,
    met: Sequence[Expression],
    evidence: tuple[str, ...] = (),
) -> ProofResult:
    """Whether the conclusion holds wherever the premise does; vacuous where `met` cannot be."""
    holds = questions.valid(name, z3.Implies(premise, conclusion))
    return ProofResult(
        name=name,
        text=text,
        verdict="proved" if holds else "refuted",
        scope=f"up to {IDS} ids in each of {ENTRIES} entries; more add nothing, as entries are read apart",
        assumptions=(
            "if a field that is not repeated occurs several times, the last one counts, as in protobuf",
            "a sender says each id once",
        ),
        engine="z3, bit vectors",
        vacuous=not questions.possible(f"{name}: its premise", premise, *met),
        evidence=evidence,
    )
