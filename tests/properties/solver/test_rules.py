"""Channels as numerals, packed words, and the rules of mesh links against the words of the protocol."""

from __future__ import annotations

import itertools

import pytest

from quidnunc.model.errors import SpecError

z3 = pytest.importorskip("z3", reason="z3-solver is not installed: pip install '.[prove]'")

from quidnunc.properties.documents.clauses import load
from quidnunc.properties.proofs import networks
from quidnunc.properties.proofs.mesh.links import GRAFT, PRUNE, VARIANTS
from quidnunc.properties.proofs.mesh.mesh_link import mesh_link
from quidnunc.properties.solver.emit import module_text
from quidnunc.properties.solver.interpret import interpreter
from quidnunc.properties.solver.rules import (
    MessageChannel,
    NetworkField,
    NetworkModel,
    channel_width,
    content_of,
    new_field,
)


def value_of(expression: object) -> object:
    """A closed expression as an int or a bool."""
    result = z3.simplify(expression)
    return result.as_long() if z3.is_bv(result) else z3.is_true(result)


def channel_of(content: tuple[int, ...], kinds: int, capacity: int) -> MessageChannel:
    code = 0
    for message in content:
        code = kinds * code + message
    return MessageChannel(z3.BitVecVal(code, channel_width(kinds, capacity)), kinds, capacity)


@pytest.mark.parametrize(("kinds", "capacity"), [(2, 2), (3, 2), (2, 3), (4, 1)])
def test_a_channel_is_a_queue(kinds: int, capacity: int) -> None:
    digits = range(1, kinds + 1)
    contents = [c for n in range(capacity + 1) for c in itertools.product(digits, repeat=n)]
    codes = set()
    for content in contents:
        at = channel_of(content, kinds, capacity)
        code = at.symbol.as_long()
        codes.add(code)
        assert content_of(code, kinds) == content
        assert value_of(at.empty()) == (not content)
        for messages in range(1, capacity + 1):
            assert value_of(at.room(messages)) == (len(content) + messages <= capacity)
        for message in digits:
            assert value_of(at.head_is(message)) == (content[:1] == (message,))
            assert value_of(at.holds((message,))) == (message in content)
            if len(content) < capacity:
                assert content_of(value_of(at.with_appended(message)), kinds) == (*content, message)
        if content:
            assert content_of(value_of(at.without_head()), kinds) == content[1:]
    assert codes == set(range(len(contents))), "no code is unused below the greatest"


def test_words_pack_and_unpack() -> None:
    network = mesh_link("mesh-link-backoff", peers=2, d_high=1)
    values = {"mesh_0_1": 1, "channel_1_0": 5, "sub_1": 1}
    word = network.packed(values)
    assert {k: v for k, v in network.unpacked(word).items() if v} == values
    steps = interpreter(network)
    assert steps.word(steps.state(word)) == word


def test_a_state_that_does_not_fit_is_refused() -> None:
    with pytest.raises(SpecError, match="take fewer peers"):
        module_text(mesh_link("mesh-link-backoff", peers=5, d_high=1), symmetry=False)
    with pytest.raises(SpecError, match="field wide_0 has 13 bits"):
        NetworkModel(
            name="wide", peers=1, parameters={}, fields=(new_field("wide", (0,), 13),), rules=(), claims=()
        )


def test_names_and_sizes_are_checked() -> None:
    for peers, d_high, said in ((1, 1, "2 to 8 peers"), (9, 1, "2 to 8 peers"), (2, 0, "at least 1")):
        with pytest.raises(SpecError, match=said):
            networks.network_named("mesh-link", peers=peers, d_high=d_high)
    with pytest.raises(SpecError, match="there are mesh-link,"):
        networks.network_named("mesh-lynx", peers=2, d_high=1)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_rule_and_claim_names_a_clause(name: str) -> None:
    network = mesh_link(name, peers=3, d_high=1)
    named = {rule.clause for rule in network.rules} | {claim.clause for claim in network.claims}
    assert named <= set(load())
    assert all(isinstance(f, NetworkField) and f.name for f in network.fields)


# -- the rules, one by one ----------------------------------------------------------------------------------


def after(
    name: str, rule: str, values: dict[str, int], d_high: int = 1, peers: int = 3
) -> dict[str, int] | None:
    """The fields that are not zero after `rule`, or None where it is not enabled."""
    network = mesh_link(name, peers=peers, d_high=d_high)
    steps = interpreter(network)
    for number, state in steps.enabled(steps.state(network.packed(values))):
        if network.rules[number].name == rule:
            return {k: v for k, v in network.unpacked(steps.word(state)).items() if v}
    return None


GG, PP = 2 * GRAFT + GRAFT, 2 * PRUNE + PRUNE


@pytest.mark.parametrize(
    ("variant", "rule", "before", "expected"),
    [
        ("mesh-link", "join_0", {}, {"sub_0": 1}),
        ("mesh-link", "join_0", {"sub_0": 1}, None),
        ("mesh-link", "leave_0", {}, None),
        ("mesh-link", "leave_0", {"sub_0": 1, "mesh_0_1": 1}, {"channel_0_1": PRUNE}),
        ("mesh-link", "leave_0", {"sub_0": 1, "mesh_0_1": 1, "channel_0_1": GG}, None),
        ("mesh-link", "leave_0", {"sub_0": 1, "channel_0_1": GG}, {"channel_0_1": GG}),
        (
            "mesh-link-backoff",
            "leave_0",
            {"sub_0": 1, "mesh_0_1": 1},
            {"channel_0_1": PRUNE, "backoff_0_1": 1},
        ),
        ("mesh-link-backoff-unsub", "leave_0", {"sub_0": 1, "mesh_0_1": 1, "channel_0_1": GRAFT}, None),
        (
            "mesh-link-backoff-unsub",
            "leave_0",
            {"sub_0": 1, "mesh_0_1": 1},
            {"channel_0_1": 3 * PRUNE + 3, "channel_0_2": 3, "backoff_0_1": 1},
        ),
        ("mesh-link", "graft_0_1", {"sub_0": 1}, {"sub_0": 1, "mesh_0_1": 1, "channel_0_1": GRAFT}),
        ("mesh-link", "graft_0_1", {"sub_0": 1, "mesh_0_2": 1}, None),
        ("mesh-link", "graft_0_1", {"sub_0": 1, "mesh_0_1": 1}, None),
        ("mesh-link", "graft_0_1", {"sub_0": 1, "channel_0_1": GG}, None),
        ("mesh-link-backoff", "graft_0_1", {"sub_0": 1, "backoff_0_1": 1}, None),
        # v1.0 prunes from a mesh above D_high, which is 1, and takes every GRAFT for its topic.
        ("mesh-link", "prune_0_1", {"mesh_0_1": 1}, None),
        (
            "mesh-link",
            "prune_0_1",
            {"mesh_0_1": 1, "mesh_0_2": 1},
            {"mesh_0_2": 1, "channel_0_1": PRUNE},
        ),
        ("mesh-link-backoff", "prune_0_1", {"mesh_0_1": 1}, {"channel_0_1": PRUNE, "backoff_0_1": 1}),
        ("mesh-link", "accept_0_1", {"sub_0": 1, "channel_1_0": GRAFT}, {"sub_0": 1, "mesh_0_1": 1}),
        (
            "mesh-link",
            "accept_0_1",
            {"sub_0": 1, "channel_1_0": GRAFT, "mesh_0_2": 1},
            {"sub_0": 1, "mesh_0_1": 1, "mesh_0_2": 1},
        ),
        ("mesh-link-backoff", "accept_0_1", {"sub_0": 1, "channel_1_0": GRAFT, "mesh_0_2": 1}, None),
        (
            "mesh-link",
            "accept_0_1",
            {"sub_0": 1, "channel_1_0": GRAFT, "mesh_0_1": 1},
            {"sub_0": 1, "mesh_0_1": 1},
        ),
        ("mesh-link", "accept_0_1", {"channel_1_0": GRAFT}, None),
        ("mesh-link", "refuse_0_1", {"channel_1_0": GRAFT}, {"channel_0_1": PRUNE}),
        ("mesh-link", "refuse_0_1", {"channel_1_0": GRAFT, "channel_0_1": PP}, None),
        (
            "mesh-link-backoff",
            "refuse_0_1",
            {"sub_0": 1, "channel_1_0": GRAFT, "backoff_0_1": 1},
            {"sub_0": 1, "channel_0_1": PRUNE, "backoff_0_1": 1},
        ),
        ("mesh-link-backoff", "refuse_0_1", {"channel_1_0": GRAFT}, None),
        (
            "mesh-link-backoff",
            "refuse-outside_0_1",
            {"channel_1_0": GRAFT},
            {"channel_0_1": PRUNE, "backoff_0_1": 1},
        ),
        ("mesh-link-backoff-silent", "refuse_0_1", {"channel_1_0": GRAFT}, None),
        ("mesh-link-backoff-silent", "ignore_0_1", {"channel_1_0": GRAFT}, {}),
        ("mesh-link", "pruned_0_1", {"mesh_0_1": 1, "channel_1_0": PRUNE}, {}),
        ("mesh-link", "pruned_0_1", {"mesh_0_1": 1, "channel_1_0": 2 * GRAFT + PRUNE}, None),
        ("mesh-link-backoff", "pruned_0_1", {"mesh_0_1": 1, "channel_1_0": PRUNE}, {"backoff_0_1": 1}),
        ("mesh-link-backoff-unsub", "unsubscribed_0_1", {"mesh_0_1": 1, "channel_1_0": 3}, {}),
        ("mesh-link-backoff", "expire_0_1", {"backoff_0_1": 1}, {}),
        ("mesh-link-backoff", "expire_0_1", {"backoff_0_1": 1, "channel_1_0": GRAFT}, None),
        (
            "mesh-link-backoff-any",
            "expire_0_1",
            {"backoff_0_1": 1, "channel_1_0": GRAFT},
            {"channel_1_0": GRAFT},
        ),
    ],
)
def test_a_rule_does_what_the_protocol_says(
    variant: str, rule: str, before: dict[str, int], expected: dict[str, int] | None
) -> None:
    assert after(variant, rule, before) == expected


def test_the_slow_oracle_names_what_it_does_not_know() -> None:
    from quidnunc.properties.solver.interpret import compiled_expression

    with pytest.raises(SpecError, match="knows no bvudiv"):
        compiled_expression(z3.UDiv(z3.BitVec("a", 4), z3.BitVec("b", 4)), {"a": 0, "b": 1})
