"""The four combinations of rules, and the edits of a protocol."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from attrs import evolve

from quidnunc.model.choices import ScriptedChoices
from quidnunc.model.errors import RuleError, SpecError
from quidnunc.model.events import Join, Sent
from quidnunc.model.machine import PROTOCOLS, family_of, protocol_named
from quidnunc.model.permits import Permit, Step
from quidnunc.model.pubsub.protocols import GOSSIPSUB_1_1, GOSSIPSUB_1_2
from quidnunc.model.rpc import Graft, Subscribe
from quidnunc.model.rules import Protocol, Rule, Targets, first, nobody, phases, rule, total, without
from tests.helpers.pubsub_run import T, after, grafted, peers


def deciding(name: str, *, when: bool = True) -> Rule:
    """A rule that appends its name to the state, a list of names, and permits a subscription of that name."""

    def apply(state: tuple[str, ...], what: object, choose: object) -> Step[tuple[str, ...]] | None:
        permit = Permit(Sent(1, Subscribe(name)), True, name)
        return Step((*state, name), (permit,)) if when else None

    return Rule(name, f"clause/{name}", apply)


def result(combined: Any) -> tuple[Step[Any] | None, list[str]]:
    witness = ScriptedChoices()
    return combined((), None, witness), witness.because


class TestFirst:
    def test_the_first_that_decides_wins(self) -> None:
        step, because = result(first(deciding("a", when=False), deciding("b"), deciding("c")))
        assert step is not None
        assert (step.router, because) == (("b",), ["clause/b"])

    def test_nobody_decides(self) -> None:
        assert result(first(deciding("a", when=False))) == (None, [])


class TestPhases:
    def test_each_in_turn_on_the_result_of_the_one_before(self) -> None:
        step, because = result(phases(deciding("a"), deciding("b", when=False), deciding("c")))
        assert step is not None
        assert step.router == ("a", "c")
        assert [p.clause for p in step.permits] == ["a", "c"]
        assert because == ["clause/a", "clause/c"]

    def test_nobody_decides(self) -> None:
        assert result(phases(deciding("a", when=False))) == (None, [])


def test_a_total_is_the_sum_of_its_terms() -> None:
    terms = [Rule(str(k), "c", lambda r, peer, k=k: k * peer) for k in (1, 2, 3)]
    assert total(*terms)(None, 2) == 12
    assert total()(None, 2) == 0


class TestWithout:
    def of(self, base: object, *said: dict[int, bool | None]) -> tuple[Targets, list[str]]:
        witness = ScriptedChoices()
        exclusions = [
            Rule(f"x{k}", f"clause/x{k}", lambda r, what, member, table=table: table.get(member, False))
            for k, table in enumerate(said)
        ]
        whole = without(Rule("base", "clause/base", lambda r, what: base), *exclusions)
        return whole(None, None, witness), witness.because

    def test_out_free_or_not_concerned(self) -> None:
        targets, because = self.of(frozenset({1, 2, 3}), {1: True, 2: None})
        assert targets == Targets(frozenset({3}), frozenset({2}))
        assert because == ["clause/base", "clause/x0"]

    def test_out_beats_free_in_either_order(self) -> None:
        for tables in (({1: None}, {1: True}), ({1: True}, {1: None})):
            assert self.of(frozenset({1}), *tables)[0] == Targets()

    def test_a_base_may_be_free_itself(self) -> None:
        targets, _ = self.of(Targets(frozenset({1}), frozenset({1, 2, 3})), {2: True})
        assert targets == Targets(frozenset({1}), frozenset({3}))

    def test_an_exclusion_that_concerns_nobody_did_not_decide(self) -> None:
        assert self.of(frozenset({1}), {2: True})[1] == ["clause/base"]

    def test_of_nobody_nothing_is_asked(self) -> None:
        assert self.of(frozenset(), {1: True}) == (Targets(), [])


class TestEdits:
    def test_a_dropped_rule_decides_no_more(self) -> None:
        protocol = GOSSIPSUB_1_2.without_rule("unknown_topic")
        assert "unknown_topic" not in {r.name for _, r in protocol.rules()}
        # The next rule for a stranger's GRAFT accepts only in our topics: silence all the same.
        assert not after(peers(1), grafted(1), protocol=protocol).all

    def test_a_dropped_rule_is_dropped_from_every_handler(self) -> None:
        both = evolve(
            GOSSIPSUB_1_2,
            handlers={**GOSSIPSUB_1_2.handlers, "prune": GOSSIPSUB_1_2["graft"]},
        )
        names = [r.name for _, r in both.without_rule("while_backing_off").rules()]
        assert "while_backing_off" not in names

    def test_a_dropped_base_leaves_nobody(self) -> None:
        protocol = GOSSIPSUB_1_2.without_rule("mesh_speakers")
        assert protocol["graft_candidates"].rules[0] is nobody
        assert not after(peers(1, 2), Join(T), protocol=protocol).due(Graft)

    def test_a_dropped_exclusion_excludes_no_more(self) -> None:
        protocol = GOSSIPSUB_1_2.without_rule("explicit")
        given = {"explicit_peers": frozenset({1})}
        assert not after(peers(1), Join(T), **given).due(Graft)
        assert set(after(peers(1), Join(T), protocol=protocol, **given).due(Graft)) == {1}

    def test_a_replaced_rule_keeps_its_name(self) -> None:
        @rule("gs1.1/graft.unknown-topic")
        def otherwise(r: object, g: object, choose: object) -> None:
            return None

        protocol = GOSSIPSUB_1_2.with_rule("unknown_topic", otherwise)
        replaced = next(r for _, r in protocol.rules() if r.name == "unknown_topic")
        assert replaced.apply is otherwise.apply

    def test_a_rule_may_be_asked_before_all_others(self) -> None:
        refusing = GOSSIPSUB_1_1["graft"].rules[3]
        assert refusing.name == "while_backing_off"
        protocol = GOSSIPSUB_1_1.with_first("graft", refusing)
        assert [r.name for r in protocol["graft"].rules][:2] == ["while_backing_off", "unknown_topic"]

    def test_readings_are_switched_on_and_off(self) -> None:
        once = GOSSIPSUB_1_2.reading("a", "b")
        assert once.features == {"a", "b"}
        assert once.reading("a").features == {"b"}

    def test_the_original_stays_as_it_was(self) -> None:
        before = [(h, r.name) for h, r in GOSSIPSUB_1_2.rules()]
        for _, each in GOSSIPSUB_1_2.rules():
            GOSSIPSUB_1_2.without_rule(each.name)
        assert [(h, r.name) for h, r in GOSSIPSUB_1_2.rules()] == before

    @pytest.mark.parametrize("edit", ["without_rule", "with_rule"])
    def test_an_unknown_rule_is_named(self, edit: str) -> None:
        arguments = ("nothing_of_the_kind", nobody)[: 1 if edit == "without_rule" else 2]
        with pytest.raises(SpecError, match="gossipsub-1.2 has no rule 'nothing_of_the_kind'"):
            getattr(GOSSIPSUB_1_2, edit)(*arguments)


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=list(PROTOCOLS))
class TestEveryProtocol:
    def test_rule_names_are_one_rule_each(self, protocol: Protocol) -> None:
        named: dict[str, Rule] = {}
        for _, each in protocol.rules():
            assert named.setdefault(each.name, each) is each

    def test_each_rule_can_be_dropped(self, protocol: Protocol) -> None:
        for _, each in protocol.rules():
            dropped = protocol.without_rule(each.name)
            assert each.name not in {r.name for _, r in dropped.rules()}

    def test_a_start_is_a_start(self, protocol: Protocol) -> None:
        machine = family_of(protocol)
        state = machine.start(protocol, machine.parameters())
        assert state == machine.start(protocol, machine.parameters())
        assert machine.until_tick_ms(state) > 0


def test_unknown_protocols_are_named_with_those_there_are() -> None:
    assert protocol_named("dog").name == "dog"
    with pytest.raises(SpecError, match="no protocol 'gossipsub' .did you mean gossipsub-1"):
        protocol_named("gossipsub")


def test_versions_differ_where_they_say_so() -> None:
    """What 1.2 adds to 1.1, and the rules by which its draft and r1 differ."""

    def names(protocol: Protocol) -> set[str]:
        return {r.name for _, r in protocol.rules()}

    draft, r1 = PROTOCOLS["gossipsub-1.2-draft"], PROTOCOLS["gossipsub-1.2"]
    strategies = {"offer_instead", "tell_before"}
    assert names(draft) - names(r1) == {"who_may_be_skipped", *strategies}
    assert names(r1) - names(draft) == {"who_said_idontwant"}
    assert names(GOSSIPSUB_1_1) <= names(r1)
    new = {
        "cancel_requests",
        "tell_mesh",
        "read_idontwants",
        "remember_unwanted",
        "beyond_the_cap",
        "forget_unwanted",
        "age",
    }
    assert names(r1) - names(GOSSIPSUB_1_1) == new | {"who_said_idontwant"}


@pytest.mark.parametrize("combined", [first, phases])
@pytest.mark.parametrize("step", [True, (), Step(None), [Permit(Sent(1, Graft("t")), True, "c")]])
def test_what_is_no_step_is_told_with_its_rule(combined: Any, step: object) -> None:
    with pytest.raises(RuleError, match=r"the rule own \(mine/clause\) of .* returned .*; expected Step"):
        result(combined(Rule("own", "mine/clause", lambda r, what, choose: step)))


@pytest.mark.parametrize("combined", [first, phases])
def test_what_a_rule_raises_is_told_with_its_rule(combined: Any) -> None:
    def boom(r: object, what: object, choose: object) -> None:
        raise RuntimeError("boom")

    def lost(r: object, what: object, choose: object) -> None:
        GOSSIPSUB_1_2["nowhere"]

    def key(r: object, what: object, choose: object) -> None:
        raise KeyError("of its own")

    told = "the rule own .* of .*test_rules raised RuntimeError: boom; see .*test_rules.py:"
    with pytest.raises(RuleError, match=told):
        result(combined(Rule("own", "mine/clause", boom)))
    # Who looks for a handler that only another change brings is told so by this one.
    with pytest.raises(KeyError):
        result(combined(Rule("own", "mine/clause", lost)))
    with pytest.raises(RuleError, match="raised KeyError: 'of its own'"):
        result(combined(Rule("own", "mine/clause", key)))


def test_what_a_rule_of_a_set_or_a_sum_raises_is_told_with_its_rule() -> None:
    """Kills: what such a rule raises is taken for a bug of the kit."""

    def boom(*given: object) -> Any:
        raise RuntimeError("boom")

    def some(*given: object) -> Any:
        return frozenset((1,))

    broken, sound = Rule("own", "mine/clause", boom), Rule("sound", "mine/clause", some)
    for combined in (total(broken), without(broken), without(sound, broken)):
        with pytest.raises(RuleError, match="the rule own .* raised RuntimeError: boom"):
            result(combined)


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (Sent(1, cast("Any", "prune")), "permits to send 'prune', which is no message"),
        ("prune", "permits 'prune'; expected must_send"),
    ],
)
def test_a_permit_that_no_router_can_use_is_told_with_its_rule(output: Any, told: str) -> None:
    """Kills: the permits of a rule are not looked at, and whoever prints them fails."""
    rule = Rule("own", "mine/clause", lambda r, what, choose: Step(r, (Permit(output, True, "mine/clause"),)))
    with pytest.raises(RuleError, match=f"the rule own .* {told}"):
        result(first(rule))


def test_a_rule_that_changes_what_is_kept_in_place_is_told() -> None:
    """Kills: `kept` is not compared after a rule."""

    def change(r: Any, what: object, choose: object) -> None:
        r.kept["n"] = r.kept.get("n", 0) + 1

    router = SimpleNamespace(kept={})
    with pytest.raises(RuleError, match="the rule own .* changes r.kept in place"):
        first(Rule("own", "mine/clause", change))(router, None, cast("Any", None))


def test_a_function_that_is_no_rule_is_told() -> None:
    """Kills: a function without `@rule` becomes a part of a protocol."""

    def plain(r: object, what: object, choose: object) -> None: ...

    given = cast("Any", plain)
    for make in (
        lambda: first(given),
        lambda: without(given),
        lambda: GOSSIPSUB_1_2.with_rule("unknown_topic", given),
        lambda: GOSSIPSUB_1_2.with_first("graft", given),
    ):
        with pytest.raises(SpecError, match=r'plain is a function, no rule; write @rule\("mine/plain"\)'):
            make()
    with pytest.raises(SpecError, match="the handler graft of x is a function; expected first"):
        GOSSIPSUB_1_2.extended("x", graft=given)


def test_a_rule_that_is_not_there_names_those_like_it() -> None:
    with pytest.raises(SpecError, match="did you mean unknown_topic"):
        GOSSIPSUB_1_2.without_rule("unknown_topicc")
    with pytest.raises(SpecError, match="`quidnunc clauses --json` lists them"):
        GOSSIPSUB_1_2.without_rule("nope")
