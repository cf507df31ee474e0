"""Every edit of the rules of a protocol that its operators allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any, get_args

from quidnunc.model.edit import moved_later
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import protocol_named
from quidnunc.model.pubsub.router import FREEDOM
from quidnunc.model.rpc import Flaw
from quidnunc.model.rules import Protocol
from tools.suite_edits import operators as op
from tools.suite_edits.learn import RuleUse, learned_of
from tools.suite_edits.operators import Operator, SuiteEdit

Named = tuple[str, str, Operator]
"""Name of an operator, what the edited router does, and the operator."""
SIBLINGS: tuple[tuple[str, ...], ...] = (
    ("d", "d_low", "d_high", "d_score", "d_out", "d_lazy", "opportunistic_graft_peers"),
    ("prune_backoff_s", "unsubscribe_backoff_s"),
    ("mcache_len", "mcache_gossip", "idontwant_heartbeats", "group_ttl_heartbeats"),
    ("max_ihave_messages", "max_ihave_length", "max_idontwant_messages", "gossip_retransmission"),
    ("gossip_threshold", "publish_threshold", "graylist_threshold"),
    ("max_groups_per_topic", "max_groups_per_peer"),
    ("max_persistent", "max_non_persistent"),
    ("cache_size", "pool_size"),
)
"""Parameters that are easily taken for each other."""
NOT_STATE = frozenset({"parameters", "protocol", "known_bounds", "now_ms", "peers", "heartbeats", *FREEDOM})
LARGE = (1 << 31, 1 << 32, (1 << 63) // 10**9)
"""Where a number of seconds no longer fits a type, or does not as nanoseconds."""


@cache
def edits_of_suite(name: str) -> tuple[SuiteEdit, ...]:
    """The edits of one protocol, by rule."""
    protocol = protocol_named(name)
    return tuple(
        SuiteEdit(rule, operator, says, change)
        for rule, use in learned_of(name).items()
        for operator, says, change in _of_rule(protocol, rule, use)
    )


def _of_rule(protocol: Protocol, rule: str, use: RuleUse) -> Iterator[Named]:
    if use.kind == "step":
        yield from _of_steps(use)
        if use.chooses:
            yield from _of_choices()
    yield from _of_state(use)
    for name, value in sorted(use.parameters.items()):
        yield from _of_parameter(name, value)
    yield from _of_parts(use)
    if use.kind == "base":
        yield from _of_bases()
    if use.kind == "exclusion":
        yield from _of_exclusions()
    if use.kind == "sum":
        yield from _of_sums()


def _of_steps(use: RuleUse) -> Iterator[Named]:
    if use.kinds:
        yield "sends nothing", "sends nothing by it", op.on_step(op.silent)
    if len(use.kinds) > 1:
        for kind in sorted(use.kinds):
            yield f"sends no {kind}", f"sends no {kind} by it", op.without_kind(kind)
    if use.most > 1:
        yield "leaves out one", "leaves out one of those that it is for", op.on_step(op.without_last)
        yield "for one alone", "does it for one alone", op.on_step(op.first_alone)
    if use.sends:
        yield "one more", "sends to one too many", op.on_step(op.to_one_more)
        yield "another", "sends to another", op.on_step(op.to_another)
    changes = sorted(use.changes - {"now_ms", "heartbeats"})
    if len(changes) > 1:
        yield "keeps nothing", "keeps nothing of it", op.on_step(op.idle)
    for name in changes:
        yield f"forgets {name}", f"does not keep what it changes of {name}", op.forgetting(name)
    for name in sorted(use.mappings):
        words = f"of {name}"
        yield f"old {name}", f"leaves old entries {words} as they are", op.merging(name, op.old_entries_kept)
        yield f"adds {name}", f"removes no entry {words}", op.merging(name, op.no_entry_removed)
        yield f"only {name}", f"loses the other entries {words}", op.merging(name, op.other_entries_lost)


def _of_choices() -> Iterator[Named]:
    yield "chooses one more", "chooses one too many", op.choosing(lambda c, n: (c[0] + 1, c[1] + 1))
    yield "chooses one less", "chooses one too few", op.choosing(lambda c, n: (c[0] - 1, c[1] - 1))
    yield "chooses all", "chooses all that there are", op.choosing(lambda c, n: (n, n))
    yield "chooses one", "chooses one at most", op.choosing(lambda c, n: (min(1, c[0]), min(1, c[1])))
    yield "chooses any", "chooses whomever", op.choosing(lambda c, n: c, constrained=False)


def _of_state(use: RuleUse) -> Iterator[Named]:
    for name in sorted(use.reads - NOT_STATE):
        yield f"blind to {name}", f"does not look at {name}", op.blind_to(name)
    for name in sorted((use.by_peer & use.reads) - NOT_STATE):
        yield f"shares {name}", f"takes {name} of one peer for that of each", op.shared_among_peers(name)
    if "now_ms" in use.reads:
        for shift in (1, 1000, op.MINUTES_MS):
            yield f"{shift} ms late", f"takes it to be {shift} ms later", op.at_time(shift)
            yield f"{shift} ms early", f"takes it to be {shift} ms earlier", op.at_time(-shift)


def _of_parameter(name: str, value: Any) -> Iterator[Named]:
    def sees(words: str, change: Any) -> Named:
        return f"sees {name} {words}", f"takes {name} {words}", op.with_parameter(name, change)

    if isinstance(value, bool):
        yield sees("the other way round", lambda v: not v)
    elif isinstance(value, int | float):
        number = int if isinstance(value, int) else float
        yield sees("+ 1", lambda v: v + 1)
        yield sees("- 1", lambda v: v - 1)
        yield sees("doubled", lambda v: v * 2)
        yield sees("halved", lambda v: number(v / 2))
        yield sees("for zero", lambda v: number(0))
        yield sees("for unlimited", lambda v: number(op.LARGEST))
    elif isinstance(value, frozenset):
        yield sees("for nobody", lambda v: frozenset())
    for group in SIBLINGS:
        if name in group:
            for other in group:
                if other != name:
                    says = f"takes {other} in the place of {name}"
                    yield f"sees {name} for {other}", says, _swapped(name, other)


def _swapped(name: str, other: str) -> Operator:
    def operator(old: op.Apply) -> op.Apply:
        def apply(r: Any, *rest: Any) -> Any:
            if not hasattr(r.parameters, other):
                return old(r, *rest)
            value = getattr(r.parameters, other)
            return op.with_parameter(name, lambda _: value)(old)(r, *rest)

        return apply

    return operator


def _of_parts(use: RuleUse) -> Iterator[Named]:
    if use.received:
        yield "as from another", "takes what arrives for another peer's", op.as_from_another
    if use.rpc:
        yield "reads one part", "reads the first part of an RPC alone", op.of_rpc(lambda p: p[:1])
        yield "reads backwards", "reads the parts of an RPC backwards", op.of_rpc(lambda p: p[::-1])
    for name, value in sorted(use.part.items()):
        yield from _of_field(name, value)


def _of_field(name: str, value: Any) -> Iterator[Named]:
    def reads(words: str, change: Any) -> Named:
        return f"reads {name} {words}", f"takes {name} {words}", op.reading_part(name, change)

    if name == "flaw":
        for flaw in get_args(Flaw)[1:-2]:
            yield reads(f"{flaw} for none", partial(_without_flaw, flaw))
    elif isinstance(value, bool):
        yield reads("the other way round", lambda v: not v)
    elif isinstance(value, tuple):
        yield reads("by the first", lambda v: v[:1])
        yield reads("but the first", lambda v: v[1:] or v)
        yield reads("but the last", lambda v: v[:-1] or v)
    elif name == "backoff_s":
        yield reads("for absent", lambda v: None)
        yield reads("doubled", lambda v: v and 2 * v)
        yield reads("halved", lambda v: v and v // 2)
        yield reads("+ 1", lambda v: v and v + 1)
        yield reads("- 1", lambda v: v and v - 1)
        for bound in LARGE:
            yield reads(f"from {bound} on for absent", partial(_none_from, bound))
            yield reads(f"from {bound} on for 1", partial(_one_from, bound))
    elif name == "size":
        yield f"ignores {name}", f"ignores what has a {name}", op.ignoring(name, bool)
    elif name == "author" and value is not None:
        yield "ignores author", "ignores what is another's", op.ignoring(name, lambda v: v is not None)


def _without_flaw(flaw: str, value: str) -> str:
    return "" if value == flaw else value


def _none_from(bound: int, value: int | None) -> int | None:
    return None if value and value >= bound else value


def _one_from(bound: int, value: int | None) -> int | None:
    return 1 if value and value >= bound else value


def _of_bases() -> Iterator[Named]:
    yield "everybody", "begins with everybody", op.on_base(op.with_everybody)
    yield "one more", "begins with one too many", op.on_base(op.with_one_more)
    yield "one less", "begins with one too few", op.on_base(op.with_one_less)
    yield "one alone", "begins with one alone", op.on_base(op.with_one_alone)


WHICH: Mapping[str, Any] = {
    "the lowest": lambda r, p: p == min(r.peers, default=0),
    "outbound ones": lambda r, p: bool(getattr(r.peers.get(p), "outbound", False)),
    "inbound ones": lambda r, p: not getattr(r.peers.get(p), "outbound", False),
    "floodsub ones": lambda r, p: bool(getattr(r.peers.get(p), "speaks_floodsub", False)),
    "every second": lambda r, p: p % 2 == 0,
}


def _of_exclusions() -> Iterator[Named]:
    for words, which in WHICH.items():
        yield f"spares {words}", f"does not exclude {words} by it", op.sparing(which)
        yield f"excludes {words}", f"excludes {words} by it", op.excluding_also(which)


def _of_sums() -> Iterator[Named]:
    yield "doubled", "counts it twice", op.scaled(lambda v: v * 2)
    yield "halved", "counts half of it", op.scaled(lambda v: v // 2)
    yield "rooted", "counts the root of it", op.scaled(op.rooted)
    yield "not below zero", "counts nothing below zero", op.scaled(lambda v: max(0, v))
    yield "not above zero", "counts nothing above zero", op.scaled(lambda v: min(0, v))


def later(protocol: Protocol, rule: str) -> Protocol | None:
    """The protocol in which the next rule comes first; None where none follows."""
    try:
        return moved_later(protocol, rule)
    except SpecError:
        return None
