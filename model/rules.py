"""The four ways in which rules are combined, and the edits of a protocol.

A rule is a pure function of one to three lines that bears the id of the clause it formalises. A protocol is
its handlers, each a tuple of rules combined in one of four ways, and nothing else; so dropping or replacing a
rule, and comparing two protocols, are operations on tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast, get_args
from typing import Protocol as Shape

from attrs import Factory, field, frozen

from quidnunc.model.errors import RuleError, SpecError, similar_names
from quidnunc.model.events import Output, Sent
from quidnunc.model.permits import Permit, Step
from quidnunc.model.rpc import ControlField, Part
from quidnunc.model.score_interval import ZERO
from quidnunc.model.values import evolve

F = TypeVar("F", bound=Callable[..., object])

RuleFunction: TypeAlias = Callable[..., Any]
"""What comes of one depends on the combination that it is in."""


class Witness(Shape):
    """What a combination tells of the rules that decided; every oracle is one."""

    def fired(self, clause: str) -> None:
        """Note that a rule of this clause decided."""
        ...


@frozen
class SilentWitness:
    """A witness that keeps nothing: to look at a set is not to use it."""

    def fired(self, clause: str) -> None:
        return None


UNNOTICED = SilentWitness()


def _is_of_the_kit(each: Rule) -> bool:
    function: Any = each.apply
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__module__", "")).startswith("quidnunc.")


@frozen(eq=False)
class Rule:
    """One rule: `apply(router, what, choose)`. Its name is its function's, unique within a protocol."""

    name: str
    clause: str
    apply: RuleFunction
    doc: str = ""
    lacking: str = ""
    """What a router does that lacks the rule: a sentence without its subject. Empty: nobody has said it."""
    when: str = ""
    """What the rule does: the clause that completes "Sends nothing when ...". Empty: nobody has said it."""
    of_the_kit: bool = field(init=False, repr=False, default=Factory(_is_of_the_kit, takes_self=True))
    """What a rule of a user returns, raises and changes is looked at."""

    def step(self, r: object, what: object, choose: Witness) -> Step[object] | None:
        """Apply a rule of a `first` or a `phases`."""
        found: Step[object] | None = self.apply(r, what, choose)
        return found


def rule(clause: str, *, lacking: str = "", when: str = "") -> Callable[[F], Rule]:
    """Make a rule of a function.

    `clause` is the sentence that it formalises. `lacking` says what a router does that lacks the rule, and
    `when` what the rule does ("it refuses a GRAFT inside the backoff"): headlines are made of them.
    """

    def make(function: F) -> Rule:
        name, doc = getattr(function, "__name__", "rule"), (function.__doc__ or "").strip()
        return Rule(name=name, clause=clause, apply=function, doc=doc, lacking=lacking, when=when)

    return make


def refused_rule(each: Rule, said: str) -> RuleError:
    """The error of a rule of which `said` is true; it names the rule, its module, and its place."""
    code = getattr(each.apply, "__code__", None)
    place = f"; see {code.co_filename}:{code.co_firstlineno}" if code is not None else ""
    module = getattr(each.apply, "__module__", "") or "an unnamed module"
    return RuleError(f"the rule {each.name} ({each.clause}) of {module} {said}{place}")


def _is_no_step(each: Rule, step: object) -> RuleError:
    """What is said of a rule that decided something else than a step of a router."""
    got = "a Step of no router" if isinstance(step, Step) else repr(step)[:80]
    return refused_rule(each, f"returned {got}; expected Step(router, ...) or None")


def _asks_for_a_handler(error: Exception) -> bool:
    """Whether a protocol was asked for a handler that it does not have: another change may bring it."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    asked = (Protocol.__getitem__.__code__, Protocol.set_of.__code__)
    return isinstance(error, KeyError) and at is not None and at.tb_frame.f_code in asked


def _applied(each: Rule, r: object, *rest: object) -> Any:
    """What a rule that is not of the kit says. Raises RuleError, which names the rule, where it raises an
    error, changes what the router keeps, or permits what no router sends."""
    before = dict(getattr(r, "kept", ()))
    try:
        said = each.apply(r, *rest)
    except (RuleError, SpecError):
        raise
    except Exception as error:
        if _asks_for_a_handler(error):
            raise
        raise refused_rule(each, f"raised {type(error).__name__}: {error}") from error
    if before != dict(getattr(r, "kept", ())):
        raise refused_rule(each, "changes r.kept in place; return Step(evolve(r, kept={**r.kept, ...}))")
    for permit in said.permits if isinstance(said, Step) else ():
        output = permit.output if isinstance(permit, Permit) else permit
        if not isinstance(output, get_args(Output)):
            raise refused_rule(each, f"permits {output!r:.80}; expected must_send(...) or may_send(...)")
        if isinstance(output, Sent) and not isinstance(output.part, get_args(Part)):
            got = f"{output.part!r:.80}, which is no message"
            raise refused_rule(each, f"permits to send {got}; expected one such as Prune('t1')")
    return said


@frozen(eq=False)
class FirstMatch:
    """The first rule that decides (returns a step) wins; where none does, nothing happens."""

    rules: tuple[Rule, ...]
    kind = "first"

    def __call__(self, r: object, what: object, choose: Witness) -> Step[object] | None:
        for each in self.rules:
            step: Step[object] | None = (
                each.apply(r, what, choose) if each.of_the_kit else _applied(each, r, what, choose)
            )
            if step is not None:
                if type(step) is not Step or step.router is None:
                    raise _is_no_step(each, step)
                choose.fired(each.clause)
                return step
        return None


@frozen(eq=False)
class Phases:
    """Each rule in turn, on the result of the one before; the permits add up."""

    rules: tuple[Rule, ...]
    kind = "phases"

    def __call__(self, r: object, what: object, choose: Witness) -> Step[object] | None:
        total: Step[object] | None = None
        for each in self.rules:
            now = r if total is None else total.router
            step: Step[object] | None = (
                each.apply(now, what, choose) if each.of_the_kit else _applied(each, now, what, choose)
            )
            if step is not None:
                if type(step) is not Step or step.router is None:
                    raise _is_no_step(each, step)
                choose.fired(each.clause)
                total = step if total is None else total.then(step)
        return total


@frozen(eq=False)
class Total:
    """The sum of its terms: `apply(router, peer)` is a number."""

    rules: tuple[Rule, ...]
    kind = "total"

    def __call__(self, r: object, what: object, choose: Witness | None = None) -> int:
        total = 0
        for each in self.rules:
            term = each.apply(r, what) if each.of_the_kit else _applied(each, r, what)
            # Most terms of a score are nothing.
            if term is not ZERO:
                total += term
        return total


@frozen
class Targets:
    """A set known within bounds: `must` are in it, `may` are free to be in it or not."""

    must: frozenset[int] = frozenset()
    may: frozenset[int] = frozenset()

    @property
    def all(self) -> frozenset[int]:
        return self.must | self.may


@frozen(eq=False)
class Exclusion:
    """A set less its exclusions.

    The base is `apply(router, what) -> frozenset | Targets`; an exclusion is
    `apply(router, what, member) -> True | None | False`: out, free, or not concerned.
    """

    base: Rule
    exclusions: tuple[Rule, ...]
    kind = "without"

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (self.base, *self.exclusions)

    def __call__(self, r: object, what: object, choose: Witness) -> Targets:
        base = self.base
        said_first = base.apply(r, what) if base.of_the_kit else _applied(base, r, what)
        start = said_first if isinstance(said_first, Targets) else Targets(cast("frozenset[int]", said_first))
        if not start.must and not start.may:
            return start
        choose.fired(self.base.clause)
        must, may = set(start.must), set(start.may)
        for each in self.exclusions:
            said = False
            for member in start.must | start.may:
                out = each.apply(r, what, member) if each.of_the_kit else _applied(each, r, what, member)
                if out is False:
                    continue
                said = True
                if member in must:
                    must.discard(member)
                    if out is None:
                        may.add(member)
                if out:
                    may.discard(member)
            if said:
                choose.fired(each.clause)
        return Targets(frozenset(must), frozenset(may - must))


Combined: TypeAlias = FirstMatch | Phases | Total | Exclusion


def first(*rules: Rule) -> FirstMatch:
    return FirstMatch(_all_rules(rules))


def phases(*rules: Rule) -> Phases:
    return Phases(_all_rules(rules))


def total(*rules: Rule) -> Total:
    return Total(_all_rules(rules))


def without(base: Rule, *exclusions: Rule) -> Exclusion:
    base, *rest = _all_rules((base, *exclusions))
    return Exclusion(base, tuple(rest))


def _all_rules(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """`rules`. Raises SpecError for what is none, such as a function without `@rule`."""
    for each in rules:
        if not isinstance(each, Rule):
            name, kind = getattr(each, "__name__", repr(each)), type(each).__name__
            raise SpecError(f'{name} is a {kind}, no rule; write @rule("mine/{name}") above it')
    return rules


@frozen(eq=False)
class Protocol:
    """A protocol version: its handlers. Two protocols differ exactly where their tuples do."""

    name: str
    handlers: Mapping[str, Combined]
    features: frozenset[str] = field(factory=frozenset)
    """Named switches of reading (a profile) that are on."""
    lens: Callable[[bool, tuple[Output, ...]], tuple[Output, ...]] | None = None
    """How a quirk reads the outputs of a step (at a heartbeat or not), where what was meant can be told from
    what was sent. No specification has one."""
    messages: tuple[ControlField, ...] = ()
    """Control messages that it has beside those of the specifications."""
    family: str = "pubsub"
    """Which machine runs it (`quidnunc.model.machine`): pubsub or mempool."""

    def __getitem__(self, handler: str) -> Combined:
        return self.handlers[handler]

    def set_of(self, handler: str, r: object, what: object, choose: Witness) -> Targets:
        """The set that the `without` named `handler` describes now."""
        return cast("Exclusion", self.handlers[handler])(r, what, choose)

    def rules(self) -> Iterator[tuple[str, Rule]]:
        """Every (handler, rule), in order."""
        for name, combined in self.handlers.items():
            for each in combined.rules:
                yield name, each

    def extended(self, name: str, **handlers: Combined) -> Protocol:
        """A protocol that differs in these handlers."""
        for handler, each in handlers.items():
            if not isinstance(each, Combined):
                got = f"a {type(each).__name__}; expected first(...), phases(...), total(...) or without(...)"
                raise SpecError(f"the handler {handler} of {name} is {got}")
        return evolve(self, name=name, handlers={**self.handlers, **handlers})

    def reading(self, *switches: str) -> Protocol:
        """The same rules, with each of `switches` flipped."""
        return evolve(self, features=frozenset(self.features ^ set(switches)))

    def without_rule(self, name: str) -> Protocol:
        """This protocol with the rule `name` dropped from every handler that has it.

        Raises SpecError where there is none. The base of a `without` cannot be dropped, only emptied.
        """
        return self._edited(name, lambda each: ())

    def with_rule(self, name: str, other: Rule) -> Protocol:
        """This protocol with the rule `name` replaced by `other`, which takes over its name."""
        _all_rules((other,))
        return self._edited(name, lambda each: (_named_as(each, other),))

    def with_first(self, handler: str, other: Rule) -> Protocol:
        """This protocol with `other` asked before all rules of a `first`."""
        _all_rules((other,))
        old = self.handlers[handler]
        assert isinstance(old, FirstMatch)
        return evolve(self, handlers={**self.handlers, handler: FirstMatch((other, *old.rules))})

    def _edited(self, name: str, change: Callable[[Rule], tuple[Rule, ...]]) -> Protocol:
        if not any(each.name == name for _, each in self.rules()):
            raise self.no_rule(name)
        return evolve(self, handlers={h: _edit(c, name, change) for h, c in self.handlers.items()})

    def no_rule(self, name: str) -> SpecError:
        """What is said of the name of a rule that it does not have."""
        near = similar_names(name, (each.name for _, each in self.rules()))
        hint = f"did you mean {', '.join(near)}?" if near else "`quidnunc clauses --json` lists them"
        return SpecError(f"protocol {self.name} has no rule {name!r}; {hint}")


def _named_as(old: Rule, new: Rule) -> Rule:
    """The new rule under the name of the old one, and in its words where it has none of its own."""
    return evolve(new, name=old.name, lacking=new.lacking or old.lacking, when=new.when or old.when)


@rule("kit/nobody")
def nobody(r: object, what: object) -> frozenset[int]:
    """What a dropped base leaves."""
    return frozenset()


def _edit(combined: Combined, name: str, change: Callable[[Rule], tuple[Rule, ...]]) -> Combined:
    if not any(each.name == name for each in combined.rules):
        return combined
    if isinstance(combined, Exclusion):
        base = combined.base
        if base.name == name:
            changed = change(base)
            return Exclusion(changed[-1] if changed else nobody, combined.exclusions)
        return Exclusion(base, _flat(combined.exclusions, name, change))
    return type(combined)(_flat(combined.rules, name, change))


def _flat(rules: tuple[Rule, ...], name: str, change: Callable[[Rule], tuple[Rule, ...]]) -> tuple[Rule, ...]:
    return tuple(new for each in rules for new in (change(each) if each.name == name else (each,)))
