"""Every event and output of the vocabulary is a trace event, and comes back as it was."""

from __future__ import annotations

from typing import Any, get_args

import attrs
import pytest
from attrs import evolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quidnunc.impl.wire.keys import peer_id
from quidnunc.model import events as vocabulary
from quidnunc.model import rpc
from quidnunc.model.events import Advance, Event, Output, Receive, Sent
from quidnunc.model.rpc import Control, Graft, Message, Part, Subscribe
from quidnunc.pipeline.trace.events import SentRpc, TimeAdvance
from quidnunc.pipeline.trace.parts import parts_of, peer_read
from quidnunc.pipeline.trace.rpc import MempoolMeta, RpcMeta
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.pipeline.trace.vocabulary import body_of_event, body_of_output, event_of_body, output_of_body

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
PEERS = st.integers(0, 60)
SYMBOLS = st.sampled_from(["m1", "x00ff", "naïve", "t", "0"])


def drawn(kind: type) -> st.SearchStrategy[Any]:
    """Values of a class of the vocabulary, whatever fields it has: a new one is drawn without being named."""
    hints = attrs.resolve_types(kind, vars(vocabulary) | vars(rpc))
    return st.builds(kind, **{a.name: _field(a.name, a.type) for a in attrs.fields(hints)})


def _field(name: str, hint: Any) -> st.SearchStrategy[Any]:
    text = str(hint)
    if name == "peers" and kind_is_burst(hint):
        return PEERS.map(lambda p: (p,))
    if name == "backoff_s":
        return st.none() | st.integers(0, (1 << 64) - 1)
    if name in ("peer", "author"):
        return PEERS if "None" not in text else st.none() | PEERS
    if name == "parts":
        return st.lists(PARTS, max_size=4).map(tuple)
    if name == "part" and hint is not rpc.Partial:
        return PARTS
    if name == "decisions":
        return st.lists(drawn(vocabulary.Decision), max_size=2).map(tuple)
    if attrs.has(hint):
        return drawn(hint)
    if name == "ms":
        return st.integers(1, 10**9)
    if hint is str or hint == str | None or hint == tuple[str, ...]:
        symbols = st.lists(SYMBOLS, max_size=3).map(tuple) if hint == tuple[str, ...] else SYMBOLS
        return st.none() | symbols if "None" in text else symbols
    if hint is int:
        return st.integers(0, 10**6)
    if name == "records":
        # `any` is what a permit says of records: what is sent has some, or none.
        return st.from_type(hint).filter(lambda kind: kind != "any")
    return st.from_type(hint)


def kind_is_burst(hint: Any) -> bool:
    return hint == tuple[int, ...]


# A message of somebody's own protocol has no field in a trace.
KNOWN = [kind for kind in get_args(Part) if kind is not Control]
PARTS: st.SearchStrategy[Part] = st.deferred(lambda: st.one_of(*map(drawn, KNOWN)))
EVENTS = st.one_of(*map(drawn, get_args(Event)))
OUTPUTS = st.one_of(*map(drawn, get_args(Output)))


@given(EVENTS)
@MANY
def test_events_come_back(event: Event) -> None:
    body = body_of_event(event)
    assert event_of_body(body) == event
    assert output_of_body(body) == ()


@given(OUTPUTS)
@MANY
def test_outputs_come_back(output: Output) -> None:
    body = body_of_output(output)
    assert output_of_body(body) == (output,)
    assert event_of_body(body) is None


def test_a_message_of_ones_own_is_refused() -> None:
    with pytest.raises(ValueError, match="choke is of somebody's own protocol"):
        body_of_output(Sent(1, Control("choke", ("t1",))))


def test_a_burst_is_cut_before() -> None:
    with pytest.raises(ValueError, match="for one peer"):
        body_of_event(Receive((1, 2), ()))
    for peer in (1, 2):
        assert event_of_body(body_of_event(evolve(Receive((1, 2), ()), peers=(peer,)))) == Receive(
            (peer,), ()
        )


def test_an_rpc_of_a_network_is_an_output_for_each_part() -> None:
    meta = body_of_event(Receive((3,), (Graft("t"), Message("m1", "t"), Subscribe("t")))).meta  # type: ignore[union-attr]
    assert meta.order == (1, 2, 0)
    found = output_of_body(SentRpc(peer=peer_id(3), meta=meta))
    assert found == (Sent(3, Graft("t")), Sent(3, Message("m1", "t")), Sent(3, Subscribe("t")))


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        (RpcMeta(order=(0, 0)), "order of 0 parts"),
        (RpcMeta(test_extension=10**9), "1000000000 messages of the test extension"),
        (RpcMeta(test_extension=-1), "-1 messages"),
        (RpcMeta(mempool=(MempoolMeta(kind="gossip"),)), "kind 'gossip'"),
        (RpcMeta(mempool=(MempoolMeta(kind="txs"),)), "lacks an id"),
    ],
)
def test_what_no_harness_wrote_is_said_to_be_so(meta: RpcMeta, said: str) -> None:
    with pytest.raises(TraceError, match=said):
        parts_of(meta)


def test_strangers_and_time_that_stands_still() -> None:
    with pytest.raises(TraceError, match="none of the harness's"):
        peer_read(b"\x00\x24stranger")
    with pytest.raises(TraceError, match="forwards"):
        event_of_body(TimeAdvance(ms=0))
    assert event_of_body(TimeAdvance(ms=7)) == Advance(7)
