"""The rules of a network of routers, as guarded commands over small fields, and how a state is packed.

Each rule is written once, as z3 expressions. The prover takes them as they are, the explorer compiles them
(`solver/emit.py`), the slow oracle interprets them (`solver/interpret.py`). A field is a Bool or a small bit
vector; it is named for its kind and the peers that it is about, so that a permutation of peers is a
renaming of fields. All of a state's fields fit into one word of 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from attrs import field, frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.lazy import z3

MAX_FIELD_BITS = 12
"""A queue of five messages of four kinds has 1365 contents."""
MAX_STATE_BITS = 62
"""Two bits of a word are left to the hash table and to sizes of orbits."""

Expression: TypeAlias = Any
"""A z3 expression, of sort Bool or BitVec."""

PEER_LETTERS = "ABCDEFGH"

Peers: TypeAlias = tuple[int, ...]

Kind: TypeAlias = Literal["always", "sometimes"]


def name_of(kind: str, about: Peers) -> str:
    """`mesh` about (0, 1) is `mesh_0_1`."""
    return "_".join([kind, *map(str, about)])


@frozen(kw_only=True, eq=False)
class NetworkField:
    """One variable of the network, false or zero at the start."""

    kind: str
    about: Peers
    width: int
    """In bits; a field of one bit is a Bool."""
    symbol: Expression

    @property
    def name(self) -> str:
        return name_of(self.kind, self.about)


@frozen(eq=False)
class NetworkRule:
    """One guarded command, atomic. Fields without an update keep their values."""

    kind: str
    about: Peers
    """The peer that acts, then the one that it acts towards or hears from."""
    clause: str
    """The id of the clause that the rule is a link's view of."""
    guard: Expression
    updates: Mapping[str, Expression]
    """Name of a field -> its next value, of the field's sort."""

    @property
    def name(self) -> str:
        return name_of(self.kind, self.about)


@frozen(kw_only=True, eq=False)
class NetworkClaim:
    """What is said of every reachable state (`always`), or of at least one (`sometimes`)."""

    id: str
    clause: str
    kind: Kind
    text: str
    holds: Expression

    def noted(self) -> Expression:
        """True of the states worth a note: those that break an `always`, those that meet a `sometimes`."""
        return z3.Not(self.holds) if self.kind == "always" else self.holds


@frozen(kw_only=True, eq=False)
class NetworkModel:
    """A protocol of a small network: fields from the lowest bit on, rules, claims."""

    name: str
    peers: int
    parameters: Mapping[str, int | str | bool]
    fields: tuple[NetworkField, ...] = field()
    """From the lowest bit of a packed word on."""
    rules: tuple[NetworkRule, ...]
    claims: tuple[NetworkClaim, ...]
    shown: Callable[[Mapping[str, int]], Sequence[tuple[str, str]]] | None = None
    """The values of a state as (column, text), always the same columns."""
    phrases: Mapping[str, str] = field(factory=dict)
    """Kind of a rule -> how a trace says it, with {0} and {1} for the peers that it is about."""

    @fields.validator
    def _fit(self, attribute: object, value: tuple[NetworkField, ...]) -> None:
        for one in value:
            if not 1 <= one.width <= MAX_FIELD_BITS:
                raise SpecError(
                    f"{self.name}: field {one.name} has {one.width} bits, not 1 to {MAX_FIELD_BITS}"
                )

    @property
    def bits(self) -> int:
        """The width of a packed state."""
        return sum(f.width for f in self.fields)

    @property
    def alike(self) -> int:
        """How many peers the fields are about by number; who plays a part of its own has none."""
        return 1 + max((p for f in self.fields for p in f.about), default=-1)

    def offsets(self) -> dict[str, tuple[int, int]]:
        """Name of a field -> (its lowest bit in the packed word, its width)."""
        found, at = {}, 0
        for one in self.fields:
            found[one.name] = (at, one.width)
            at += one.width
        return found

    def unpacked(self, word: int) -> dict[str, int]:
        """The values of the fields in a packed word."""
        return {name: (word >> at) & ((1 << width) - 1) for name, (at, width) in self.offsets().items()}

    def packed(self, values: Mapping[str, int]) -> int:
        """The word of a state; fields that are not named are zero."""
        offsets = self.offsets()
        return sum(value << offsets[name][0] for name, value in values.items())

    def spoken(self, rule: NetworkRule) -> str:
        """A rule in the words of a trace, with letters for peers."""
        letters = [PEER_LETTERS[p] for p in rule.about]
        phrase = self.phrases.get(rule.kind)
        return phrase.format(*letters) if phrase else " ".join([rule.kind, *letters])

    def claim(self, claim_id: str) -> NetworkClaim:
        """The claim of that id. Raises KeyError."""
        for claim in self.claims:
            if claim.id == claim_id:
                return claim
        raise KeyError(claim_id)


def rules_by_version(network: NetworkModel) -> str:
    """Which rules a network has from which document, for it may mix what no router has together."""
    found: dict[str, list[str]] = {}
    for rule in network.rules:
        kinds = found.setdefault(rule.clause.partition("/")[0], [])
        kinds += [] if rule.kind in kinds else [rule.kind]
    return "rules " + "; ".join(f"of {document}: {', '.join(found[document])}" for document in sorted(found))


def guarded(
    kind: str, about: Peers, clause: str, guard: Expression, *updates: Mapping[str, Expression]
) -> NetworkRule:
    """A rule of several updates, no two of them of one field."""
    joined: dict[str, Expression] = {}
    for each in updates:
        assert not joined.keys() & each.keys(), f"{kind}: two updates of one field"
        joined |= each
    return NetworkRule(kind, about, clause, guard, joined)


def put(value: bool | Expression, kind: str, *about: int) -> dict[str, Expression]:
    """The update that gives one field a value."""
    return {name_of(kind, about): z3.BoolVal(value) if isinstance(value, bool) else value}


def symbol_of(fields: Iterable[NetworkField], kind: str, *about: int) -> Expression:
    """The value of one of the fields."""
    name = name_of(kind, about)
    return next(each.symbol for each in fields if each.name == name)


def new_field(kind: str, about: Peers, width: int) -> NetworkField:
    """A field with a z3 symbol of its own."""
    name = name_of(kind, about)
    symbol = z3.Bool(name) if width == 1 else z3.BitVec(name, width)
    return NetworkField(kind=kind, about=about, width=width, symbol=symbol)


def ordered_pairs(peers: int) -> Iterator[tuple[int, int]]:
    """Every (i, j) of different peers."""
    for i in range(peers):
        yield from ((i, j) for j in range(peers) if j != i)


# -- channels -----------------------------------------------------------------------------------------------


@frozen(eq=False)
class MessageChannel:
    """A first-in first-out queue of at most `capacity` messages out of `kinds`, in one field.

    Its content is a numeral in base `kinds` with the digits 1 to `kinds` and the oldest message first, so
    that the empty queue is 0, no code is unused between, and a message is appended by `kinds * code + digit`.
    """

    symbol: Expression
    kinds: int
    capacity: int

    def _value(self, number: int) -> Expression:
        return z3.BitVecVal(number, self.symbol.size())

    def _least(self, length: int) -> int:
        """The least code of a queue of `length` messages."""
        return sum(self.kinds**n for n in range(length))

    def empty(self) -> Expression:
        return self.symbol == self._value(0)

    def room(self, messages: int = 1) -> Expression:
        """Whether `messages` more fit."""
        return z3.ULT(self.symbol, self._value(self._least(self.capacity - messages + 1)))

    def with_appended(self, message: int, code: Expression | None = None) -> Expression:
        """The queue after `message` (1 to `kinds`) was sent, where there is room; or so the queue `code`."""
        old = self.symbol if code is None else code
        return old * self._value(self.kinds) + self._value(message)

    def _blocks(self) -> Iterator[tuple[int, int, int]]:
        """(head, least code, greatest code) of every head and length, in the order of codes."""
        for length in range(1, self.capacity + 1):
            size = self.kinds ** (length - 1)
            for head in range(1, self.kinds + 1):
                least = head * size + self._least(length - 1)
                yield head, least, least + size - 1

    def head_is(self, message: int) -> Expression:
        ways = []
        for head, least, greatest in self._blocks():
            if head == message and least == greatest:
                ways.append(self.symbol == self._value(least))
            elif head == message:
                ways.append(
                    z3.And(
                        z3.UGE(self.symbol, self._value(least)), z3.ULE(self.symbol, self._value(greatest))
                    )
                )
        return z3.Or(*ways)

    def without_head(self) -> Expression:
        """The queue after its oldest message was taken."""
        result = self._value(0)
        for head, least, greatest in reversed(list(self._blocks())):
            # The head is the first digit; without it the code is less by what that digit stands for.
            size = greatest - least + 1
            shorter = self.symbol - self._value(head * size)
            result = z3.If(z3.ULE(self.symbol, self._value(greatest)), shorter, result)
        return result

    def holds(self, messages: Sequence[int]) -> Expression:
        """Whether one of `messages` is somewhere in the queue."""
        contents = {c: content_of(c, self.kinds) for c in range(self._least(self.capacity + 1))}
        codes = [code for code, content in contents.items() if set(content) & set(messages)]
        return z3.Or(*(self.symbol == self._value(c) for c in codes)) if codes else z3.BoolVal(False)


def content_of(code: int, kinds: int) -> tuple[int, ...]:
    """The messages that the code of a channel stands for, the oldest first."""
    found: list[int] = []
    while code:
        digit = (code - 1) % kinds + 1
        found.append(digit)
        code = (code - digit) // kinds
    return tuple(reversed(found))


def channel_width(kinds: int, capacity: int) -> int:
    """Bits of the field of a channel."""
    contents: int = sum(kinds**n for n in range(capacity + 1))
    return (contents - 1).bit_length()
