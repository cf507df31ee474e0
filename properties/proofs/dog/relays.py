"""A source of transactions, relays, and a target that hears of it through them alone: fields and settings.

The rules are in the module `cut_off`. What may go on besides the source's transactions is a `RelaySetting`:
a target of 0; a relay that leaves the target; relays that lose the source, the first sender, and get it back;
transactions whose first sender is the target itself, or which a relay's own user submits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache

from attrs import Attribute, field, frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.lazy import z3
from quidnunc.properties.proofs.dog.controller import (
    CONTROLLERS,
    FIXED_DELTA,
    ControllerRevision,
    Found,
    found,
)
from quidnunc.properties.proofs.dog.routes import REVISIONS, RouteRevision
from quidnunc.properties.solver.edits import EditableVariants
from quidnunc.properties.solver.rules import (
    PEER_LETTERS,
    Expression,
    MessageChannel,
    NetworkField,
    channel_width,
    content_of,
    name_of,
    new_field,
    put,
    symbol_of,
)

SOURCE, TARGET = "S", "N"

HAVE, RESET, ECHO = 1, 2, 3
"""HaveTx of what came first from the source, ResetRoute, HaveTx of what came first from the target itself."""

COUNTER_BITS = 2
"""Width of the two counters of the target: new transactions, and duplicates."""


@frozen(kw_only=True)
class RelayRevision:
    """What the texts say otherwise, besides what is said of routes (the module `routes`)."""

    routes: RouteRevision
    controller: ControllerRevision
    stale: bool = False
    """HaveTx disables the route from a first sender that is no longer connected."""
    asks_lost: bool = False
    """The ResetRoute at a loss may go to the one just lost."""
    own_filtered: bool = True
    """What a user submitted goes by routes as soon as a peer has sent it too."""


def _text(suffix: str, controller: str | None = None, **besides: bool) -> RelayRevision:
    counts = suffix if controller is None else controller
    return RelayRevision(
        routes=REVISIONS[f"dog-routes{suffix}"], controller=CONTROLLERS[f"dog-controller{counts}"], **besides
    )


TEXTS: Mapping[str, RelayRevision] = EditableVariants(
    {
        "dog-cut-off": _text(""),
        "dog-cut-off-adr": _text("-adr", own_filtered=False),
        "dog-cut-off-adr-prose": _text("-adr-prose", controller="-adr", own_filtered=False),
        "dog-cut-off-quint": _text("-quint", stale=True, asks_lost=True),
        "dog-cut-off-go": _text("-go", stale=True, asks_lost=True),
        "dog-cut-off-proposed": _text("-proposed"),
    }
)


@frozen(kw_only=True)
class RelaySetting:
    """What may go on, besides the source's transactions and those of the target's user."""

    redundancy: int = 1
    """The target redundancy."""
    leaves: bool = False
    """One of the relays may leave the target, for good."""
    source_lost: bool = False
    """A relay may lose the source, and get it back."""
    echo: bool = False
    """Users may submit the same transaction at the target and at A, so that copies of it cross."""
    users: bool = False
    """A's own user may submit what the source has too."""
    most: int = field(default=(1 << COUNTER_BITS) - 1)
    """New transactions of an interval at the target, and duplicates, before the controller runs."""
    capacity: int = 2
    """Messages in the queue of the target to a relay."""

    @most.validator
    def _fits(self, _: Attribute[int], most: int) -> None:
        if not 1 <= most < 1 << COUNTER_BITS:
            raise SpecError(f"most: expected 1 to {(1 << COUNTER_BITS) - 1}, got {most}")


PLAIN = RelaySetting()


@frozen(eq=False)
class RelayFields:
    """The fields of a network, and what is said over them."""

    text: RelayRevision
    setting: RelaySetting
    count: int
    fields: tuple[NetworkField, ...]

    def at(self, kind: str, *about: int) -> Expression:
        return symbol_of(self.fields, kind, *about)

    def has(self, kind: str, *about: int) -> bool:
        """Whether there is such a field."""
        return name_of(kind, about) in {f.name for f in self.fields}

    def perhaps(self, kind: str, *about: int) -> Expression:
        """The field, or false where the setting has none."""
        return self.at(kind, *about) if self.has(kind, *about) else z3.BoolVal(False)

    def each(self) -> range:
        return range(self.count)

    def channel(self, p: int) -> MessageChannel:
        return MessageChannel(
            self.at("channel", p), ECHO if self._echoes(p) else RESET, self.setting.capacity
        )

    def _echoes(self, p: int) -> bool:
        return self.setting.echo and p == 0

    def sent(self, p: int, message: int) -> dict[str, Expression]:
        return put(self.channel(p).with_appended(message), "channel", p)

    def taken(self, p: int) -> dict[str, Expression]:
        return put(self.channel(p).without_head(), "channel", p)

    def blocked(self) -> Expression:
        """HaveTx is not allowed. Fields start false: one that starts blocked counts the other way."""
        return z3.Not(self.at("allowed")) if self.text.routes.starts_blocked else self.at("blocked")

    def blocking(self, value: bool) -> dict[str, Expression]:
        return put(not value, "allowed") if self.text.routes.starts_blocked else put(value, "blocked")

    def stuck(self, p: int) -> Expression:
        """The oldest message to p is a ResetRoute that it never takes, and p reads nothing any more."""
        if not self.text.routes.stuck:
            return z3.BoolVal(False)
        nothing = z3.Not(any_of(self.at("cut", p), self.perhaps("self", p)))
        return z3.And(self.channel(p).head_is(RESET), nothing)

    def closed(self, p: int) -> Expression:
        """Nothing of the source comes to the target through p."""
        return any_of(self.at("cut", p), self.stuck(p), self.perhaps("gone", p), self.perhaps("lost", p))

    def cut_off(self) -> Expression:
        return z3.And(*(self.closed(p) for p in self.each()))

    def resting(self) -> Expression:
        """Nothing is in flight that could still be taken."""
        quiet = [any_of(self.channel(p).empty(), self.stuck(p)) for p in self.each()]
        return z3.And(*quiet, *(z3.Not(self.at("copy", p)) for p in self.each()))

    def finds(self, what: Found) -> Expression:
        """That the counters are such as an adjustment finds `what` of."""
        pairs = [pair for pair, outcome in outcomes_of(self.text, self.setting).items() if what == outcome]
        return any_of(*(self.counted(*pair) for pair in pairs))

    def counted(self, first: int, again: int) -> Expression:
        return z3.And(self.at("first") == first, self.at("again") == again)


def any_of(*statements: Expression) -> Expression:
    """z3's Or, of none too."""
    return z3.Or(*statements) if statements else z3.BoolVal(False)


@lru_cache(maxsize=32)
def outcomes_of(text: RelayRevision, setting: RelaySetting) -> dict[tuple[int, int], Found]:
    """What an adjustment finds, for each pair of counters."""
    target, counted = Fraction(setting.redundancy), range(setting.most + 1)
    return {
        (first, again): found(text.controller, target, Fraction(FIXED_DELTA), first, again)
        for first in counted
        for again in counted
    }


def fields_of(text: RelayRevision, setting: RelaySetting, count: int) -> Iterator[NetworkField]:
    """The fields of a network, from the lowest bit on."""
    yield new_field("allowed" if text.routes.starts_blocked else "blocked", (), 1)
    yield new_field("known", (), 1)
    yield new_field("first", (), COUNTER_BITS)
    yield new_field("again", (), COUNTER_BITS)
    for p in range(count):
        kinds = ["cut", "copy"]
        kinds += ["gone"] if setting.leaves else []
        kinds += ["lost", "back"] if setting.source_lost else []
        kinds += ["self"] if setting.echo and p == 0 else []
        kinds += ["user", "both"] if setting.users and p == 0 else []
        for kind in kinds:
            yield new_field(kind, (p,), 1)
        messages = ECHO if setting.echo and p == 0 else RESET
        yield new_field("channel", (p,), channel_width(messages, setting.capacity))
    flags = {"vain": setting.leaves, "wasted": setting.echo, "kept": setting.users}
    for flag, there in flags.items():
        if there:
            yield new_field(flag, (), 1)


# -- words --------------------------------------------------------------------------------------------------

_STATES = {
    "gone": "has left",
    "lost": f"without {SOURCE}",
    "cut": f"cuts {SOURCE}",
    "self": f"cuts {TARGET}",
    "user": "has its own",
    "both": f"has it from {SOURCE} too",
}
_MESSAGES = {HAVE: f"HaveTx({SOURCE})", RESET: "ResetRoute", ECHO: f"HaveTx({TARGET})"}


def shown(at: RelayFields, values: Mapping[str, int]) -> list[tuple[str, str]]:
    """The values of a state, in columns."""
    allowed = values["allowed"] if at.text.routes.starts_blocked else not values["blocked"]
    counted = f"{values['first']} new, {values['again']} again"
    found_now = [(TARGET, f"{'HaveTx allowed' if allowed else 'blocked'}; {counted}")]
    for p in at.each():
        letter = PEER_LETTERS[p]
        said = [text for kind, text in _STATES.items() if values.get(name_of(kind, (p,)))]
        said += ["a copy to N"] if values[name_of("copy", (p,))] else []
        found_now.append((letter, ", ".join(said) or "-"))
        codes = content_of(values[name_of("channel", (p,))], at.channel(p).kinds)
        found_now.append((f"{TARGET}>{letter}", " ".join(_MESSAGES[m] for m in codes) or "-"))
    return found_now
