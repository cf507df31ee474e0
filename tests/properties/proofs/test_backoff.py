"""Backoff arithmetic for all 64-bit values, beside the same computed in whole numbers."""

from __future__ import annotations

import pytest

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from attrs import evolve

from quidnunc.properties.proofs import prove as network_prove
from quidnunc.properties.proofs.backoff import BITS, WAYS, BackoffArithmetic, exact_range, length
from quidnunc.properties.solver.questions import SolverSession

NANOSECONDS, MILLISECONDS, UNSIGNED, CAPPED = WAYS.values()


def computed(way: BackoffArithmetic, seconds: int) -> int:
    """What a machine of 64 bits makes of a value, in whole numbers."""
    taken = seconds if way.cap_s is None else min(seconds, way.cap_s)
    wrapped = taken * way.unit % 2**BITS
    return wrapped - 2**BITS if way.signed and wrapped >= 2 ** (BITS - 1) else wrapped


@pytest.mark.parametrize("way", WAYS.values(), ids=lambda way: way.name)
@pytest.mark.parametrize("seconds", [0, 1, 60, 3600, 3601, 2**33, 9_223_372_037, 2**63, 2**64 - 1])
def test_the_bits_are_those_of_a_machine(way: BackoffArithmetic, seconds: int) -> None:
    result = z3.simplify(length(way, z3.BitVecVal(seconds, BITS)))
    assert (result.as_signed_long() if way.signed else result.as_long()) == computed(way, seconds)


@pytest.mark.parametrize("way", [NANOSECONDS, MILLISECONDS, UNSIGNED], ids=lambda way: way.name)
def test_without_a_cap_there_is_a_first_wrong_value(way: BackoffArithmetic) -> None:
    found = exact_range(SolverSession(), way)
    assert found.exact_up_to is not None and found.first_wrong == found.exact_up_to + 1
    assert found.becomes == computed(way, found.first_wrong) != found.first_wrong * way.unit
    assert computed(way, found.exact_up_to) == found.exact_up_to * way.unit


def test_go_is_read_to_wrap_after_292_years() -> None:
    assert exact_range(SolverSession(), NANOSECONDS).first_wrong == 9_223_372_037
    assert computed(NANOSECONDS, 9_223_372_037) < 0


def test_a_cap_is_proved_for_every_value_and_one_that_is_too_great_is_not() -> None:
    assert exact_range(SolverSession(), CAPPED).exact_up_to == 2**64 - 1
    too_great = exact_range(SolverSession(), evolve(CAPPED, cap_s=10**10))
    assert too_great.first_wrong == 9_223_372_037


def test_the_lines_of_prove() -> None:
    results = network_prove.prove("backoff-arithmetic", SolverSession())
    assert [result.verdict for result in results] == ["refuted", "refuted", "refuted", "proved"]
    assert not any(result.vacuous for result in results)
    assert results[2].evidence[-1] == "18446744073709552 s becomes 384 of 1000 to the second"
