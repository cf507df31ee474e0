"""What differs between two protocols: their rules handler by handler, their readings, their parameters.

A protocol is tuples of rules, so a difference is a list of edits of tuples. Each `ProtocolChange` can be made
alone in the old protocol, or undone alone in the new one. `quidnunc regress` does so to find out which change
causes which difference of behaviour.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from attrs import evolve, field, frozen

from quidnunc.model.edits.readings import READINGS
from quidnunc.model.errors import SpecError
from quidnunc.model.rules import Combined, Exclusion, FirstMatch, Phases, Rule, Total, nobody
from quidnunc.properties.regress.code_equality import same_function
from quidnunc.properties.regress.sides import Side

ChangeKind: TypeAlias = Literal[
    "added", "removed", "replaced", "reordered", "recombined", "reading", "lens", "parameter", "together"
]
"""`added`, `removed` and `replaced` are changes of a rule. `reordered` and `recombined` are changes of a
handler: of the order of its rules, or of the way in which they are combined. `lens` is a quirk's
way to read outputs. `together` is several changes, none of which can be observed without the others."""

ALL = "all"
"""Name of all changes together."""


@frozen
class ProtocolChange:
    """One difference of two sides, which can be made alone in OLD, or undone alone in NEW."""

    kind: ChangeKind
    handler: str = ""
    """The handler that is changed; empty for a reading, a lens or a parameter."""
    old: Rule | None = field(default=None, eq=False)
    new: Rule | None = field(default=None, eq=False)
    name: str = ""
    """Name of the handler, the reading or the parameter; for a rule the name of `new`, or else of `old`."""
    values: tuple[object, object] = (None, None)
    """The values of a parameter in OLD and in NEW; None where it is not set."""
    members: tuple[ProtocolChange, ...] = ()
    """The changes that are made together; empty unless the kind is `together`."""
    suffix: str = ""
    """End of the key, where another change of the pair would have the same."""

    @classmethod
    def together(cls, members: Sequence[ProtocolChange], name: str = "") -> ProtocolChange:
        """Several changes as one."""
        return cls("together", name=name or "+".join(each.key for each in members), members=tuple(members))

    @property
    def key(self) -> str:
        """Its name, unique among the changes of one pair: `graft/while_backing_off`, `parameter/d`."""
        return f"{self.handler or self.kind}/{self.name}{self.suffix}"

    @property
    def rule(self) -> str:
        """The rule to look at, in NEW or else in OLD; empty where the change is of none."""
        if self.members:
            return next((each.rule for each in self.members if each.rule), "")
        changed = self.new or self.old
        return changed.name if changed is not None else ""

    @property
    def clause(self) -> str:
        """The sentence that the change is of; empty where none is."""
        if self.members:
            return next((each.clause for each in self.members if each.clause), "")
        rule = self.new or self.old
        if rule is not None:
            return rule.clause
        return next((each.clause for each in READINGS if each.name == self.name), "")

    @property
    def says(self) -> str:
        """The change in a few words."""
        old, new = (r.name if r else "" for r in (self.old, self.new))
        place = f" in {self.handler}" if self.handler else ""
        match self.kind:
            case "replaced":
                return f"{old} -> {new}{place}" if old != new else f"{new} rewritten{place}"
            case "added" | "removed":
                return f"{self.name} {self.kind}{place}"
            case "parameter":
                was, now = ("the default" if v is None else v for v in self.values)
                return f"{self.name}: {was} -> {now}"
            case "together":
                if self.name == ALL:
                    return f"all {len(self.members)} changes as one"
                return " together with ".join(each.says for each in self.members)
            case _:
                return f"{self.name} {self.kind}"

    def undone(self, old: Side, new: Side) -> Side:
        """NEW with this change taken back."""
        for each in self.members:
            new = each.undone(old, new)
        return new if self.members else self._towards(new, old, gone=self.new, come=self.old)

    def made(self, old: Side, new: Side) -> Side:
        """OLD with this change alone."""
        for each in self.members:
            old = each.made(old, new)
        return old if self.members else self._towards(old, new, gone=self.old, come=self.new)

    def _towards(self, side: Side, other: Side, gone: Rule | None, come: Rule | None) -> Side:
        here, there = side.protocol, other.protocol
        if self.kind == "parameter":
            left = tuple(each for each in side.overrides if each[0] != self.name)
            return evolve(side, overrides=left + tuple(e for e in other.overrides if e[0] == self.name))
        if self.kind == "reading":
            return evolve(side, protocol=evolve(here, features=here.features ^ {self.name}))
        if self.kind == "lens":
            return evolve(side, protocol=evolve(here, lens=there.lens))
        model = there.handlers.get(self.handler)
        edited = here.handlers.get(self.handler) or _emptied(there.handlers[self.handler])
        if self.kind == "recombined":
            assert model is not None
            combined = combined_as(model, edited.rules)
        elif self.kind == "reordered":
            assert model is not None
            combined = combined_as(edited, _in_order_of(edited.rules, model.rules))
        elif isinstance(edited, Exclusion) and (model is None or isinstance(model, Exclusion)):
            combined = _set_edited(edited, model, gone, come)
        else:
            rules = _edited(edited.rules, model.rules if model else (), gone, come)
            # One rule is the same in every way of combination; with a second one it has to be the other's.
            lone = model is not None and len(edited.rules) <= 1
            combined = combined_as(model if lone and model is not None else edited, rules)
        return evolve(side, protocol=evolve(here, handlers={**here.handlers, self.handler: combined}))


def _emptied(combined: Combined) -> Combined:
    """The same way of combination with no rules; the base of a `without` is kept, since it has no other."""
    return Exclusion(combined.base, ()) if isinstance(combined, Exclusion) else type(combined)(())


def combined_as(model: Combined, rules: Sequence[Rule]) -> Combined:
    """`rules` in the way of `model`."""
    match model:
        case Exclusion():
            return Exclusion(rules[0], tuple(rules[1:])) if rules else Exclusion(nobody, ())
        case FirstMatch():
            return FirstMatch(tuple(rules))
        case Phases():
            return Phases(tuple(rules))
        case Total():
            return Total(tuple(rules))


def _set_edited(
    edited: Exclusion, model: Exclusion | None, gone: Rule | None, come: Rule | None
) -> Exclusion:
    """A set with another base, or with other exclusions: the one never takes the place of the other."""
    if come is not None and model is not None and come.name == model.base.name:
        return Exclusion(come, edited.exclusions)
    if come is None and gone is not None and gone.name == edited.base.name:
        return Exclusion(nobody, edited.exclusions)
    others = model.exclusions if model is not None else ()
    return Exclusion(edited.base, _edited(edited.exclusions, others, gone, come))


def _edited(
    rules: Sequence[Rule], others: Sequence[Rule], gone: Rule | None, come: Rule | None
) -> tuple[Rule, ...]:
    """`rules` without `gone` and with `come`, in its place or where `others` have it."""
    names = [r.name for r in rules]
    at = names.index(gone.name) if gone is not None and gone.name in names else None
    left = tuple(r for i, r in enumerate(rules) if i != at)
    if come is None:
        return left
    if come.name in [r.name for r in left]:
        return tuple(come if r.name == come.name else r for r in left)
    if at is None:
        order = [r.name for r in others]
        before = order[: order.index(come.name)] if come.name in order else []
        at = max((i + 1 for i, r in enumerate(left) if r.name in before), default=0)
    return (*left[:at], come, *left[at:])


def _in_order_of(rules: Sequence[Rule], others: Sequence[Rule]) -> tuple[Rule, ...]:
    """`rules`, those that `others` have too in the order of these."""
    here = {r.name: r for r in rules}
    common = iter([here[r.name] for r in others if r.name in here])
    shared = {r.name for r in others}
    return tuple(next(common) if r.name in shared else r for r in rules)


def changes_between(old: Side, new: Side) -> tuple[ProtocolChange, ...]:
    """All of them, handler by handler, each with a key of its own. Raises SpecError where the two are of
    different families."""
    here, there = old.protocol, new.protocol
    if here.family != there.family:
        raise SpecError(
            f"{old.name} is of the {here.family} family and {new.name} of the {there.family} one: "
            "what happens to the one cannot happen to the other"
        )
    found: list[ProtocolChange] = []
    for handler in dict.fromkeys([*here.handlers, *there.handlers]):
        found += _of_handler(handler, here.handlers.get(handler), there.handlers.get(handler))
    found += [ProtocolChange("reading", name=n) for n in sorted(here.features ^ there.features)]
    if here.lens is not there.lens:
        found.append(ProtocolChange("lens", name="lens"))
    found += _of_parameters(old, new)
    return tuple(_with_unique_keys(found))


def _with_unique_keys(changes: Sequence[ProtocolChange]) -> Iterator[ProtocolChange]:
    """The changes, those that share a key told apart by their kinds: `graft/graft:reordered`."""
    shared = Counter(each.key for each in changes)
    told = Counter((each.key, each.kind) for each in changes)
    seen: Counter[tuple[str, str]] = Counter()
    for each in changes:
        both = (each.key, each.kind)
        seen[both] += 1
        number = f":{seen[both]}" if told[both] > 1 else ""
        yield evolve(each, suffix=f":{each.kind}{number}") if shared[each.key] > 1 else each


def all_of(changes: Sequence[ProtocolChange]) -> ProtocolChange:
    """All of the changes as one, or the only one."""
    return changes[0] if len(changes) == 1 else ProtocolChange.together(changes, ALL)


def change_named(key: str, changes: Sequence[ProtocolChange]) -> ProtocolChange | None:
    """The one of `changes` that has this key, or those of them that it names together; None where none do."""
    found = next((each for each in changes if each.key == key), None)
    if key == f"together/{ALL}":
        return all_of(changes) if changes else None
    if found is None and key.startswith("together/"):
        wanted = key.removeprefix("together/").split("+")
        members = [each for each in changes if each.key in wanted]
        return ProtocolChange.together(members) if [each.key for each in members] == wanted else None
    return found


def _of_parameters(old: Side, new: Side) -> Iterator[ProtocolChange]:
    was, now = dict(old.overrides), dict(new.overrides)
    for name in sorted(was.keys() | now.keys()):
        if was.get(name) != now.get(name):
            yield ProtocolChange("parameter", name=name, values=(was.get(name), now.get(name)))


def _of_handler(handler: str, old: Combined | None, new: Combined | None) -> Iterator[ProtocolChange]:
    was = old.rules if old is not None else ()
    now = new.rules if new is not None else ()
    if old is not None and new is not None and old.kind != new.kind and len(was) > 1:
        yield ProtocolChange("recombined", handler, name=handler)
    if isinstance(old, Exclusion) and isinstance(new, Exclusion):
        # A set is no exclusion, so that it takes the place of a set alone.
        if not _same(old.base, new.base):
            yield ProtocolChange("replaced", handler, old.base, new.base, new.base.name)
        was, now = old.exclusions, new.exclusions
    kept = {r.name for r in was} & {r.name for r in now}
    if [r.name for r in was if r.name in kept] != [r.name for r in now if r.name in kept]:
        yield ProtocolChange("reordered", handler, name=handler)
        # Their order is told; what else there is shows with the old ones as the new order has them.
        was = _in_order_of(was, now)
    matcher = SequenceMatcher(None, [r.name for r in was], [r.name for r in now], autojunk=False)
    for _, i1, i2, j1, j2 in matcher.get_opcodes():
        for gone, come in _paired(was[i1:i2], now[j1:j2]):
            if gone is None or come is None:
                kind: ChangeKind = "added" if gone is None else "removed"
                yield ProtocolChange(kind, handler, gone, come, (come or gone or nobody).name)
            elif not _same(gone, come):
                yield ProtocolChange("replaced", handler, gone, come, come.name)


def _paired(gone: Sequence[Rule], come: Sequence[Rule]) -> Iterator[tuple[Rule | None, Rule | None]]:
    """Each rule that goes with the one that comes in its place: the one most like it in its words."""
    if not gone or not come:
        yield from ((r, None) for r in gone)
        yield from ((None, r) for r in come)
        return
    if len(gone) > len(come):
        yield from ((old, new) for new, old in _paired(come, gone))
        return
    # One has to be left for each of those that follow.
    free = come[: len(come) - len(gone) + 1]
    at = max(range(len(free)), key=lambda i: (_likeness(gone[0], free[i]), -i))
    yield from ((None, r) for r in come[:at])
    yield gone[0], come[at]
    yield from _paired(gone[1:], come[at + 1 :])


def _likeness(one: Rule, other: Rule) -> float:
    here, there = (f"{r.clause.partition('/')[2]} {r.name}" for r in (one, other))
    return SequenceMatcher(None, here, there, autojunk=False).ratio()


def _same(one: Rule, other: Rule) -> bool:
    return (one.name, one.clause) == (other.name, other.clause) and same_function(one.apply, other.apply)
