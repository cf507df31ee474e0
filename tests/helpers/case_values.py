"""Hypothesis strategies for everything that a case can hold."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, get_args

from hypothesis import strategies as st

from quidnunc.impl.wire.malformed import MALFORMED
from quidnunc.impl.wire.mempool_codec import MALFORMED_MEMPOOL
from quidnunc.model import events as ev
from quidnunc.model import rpc
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.properties.cases.case import CONTROLS, STATUSES, Case, CaseBlock, CaseOutput, Misfit
from quidnunc.properties.notation.words import STRANGER

PEERS = st.one_of(st.integers(1, 60), st.integers(1, 20_000), st.just(2**31))
BURSTS = st.one_of(
    st.lists(PEERS, max_size=6).map(tuple),
    st.tuples(st.integers(1, 800), st.integers(0, 30)).map(lambda x: tuple(range(x[0], x[0] + x[1]))),
)
NAMES = st.one_of(
    st.sampled_from(
        ("t1", "t2", "m1", "m10", "x0aff", "m3@origin", "m3@content", "by", "nothing", "9x", "raw")
    ),
    st.text(max_size=8),
)
OFFERED = st.lists(st.one_of(st.integers(1, 40), st.sampled_from((rpc.ROUTER, STRANGER))), max_size=5).map(
    tuple
)
IDS = st.lists(NAMES, max_size=4).map(tuple)

MESSAGES = st.builds(
    rpc.Message,
    id=NAMES,
    topic=NAMES,
    author=st.one_of(st.none(), PEERS, st.just(rpc.ROUTER), st.just(STRANGER)),
    size=st.sampled_from((0, 1, 600, 2000)),
    flaw=st.sampled_from(get_args(rpc.Flaw)),
)
MAYBE = st.one_of(st.none(), NAMES)
PARTIALS = st.builds(rpc.Partial, NAMES, NAMES, MAYBE, MAYBE)
PARTS: st.SearchStrategy[Any] = st.one_of(
    MESSAGES,
    st.builds(rpc.Subscribe, NAMES, st.booleans(), st.booleans()),
    st.builds(rpc.Unsubscribe, NAMES, st.booleans(), st.booleans()),
    st.builds(rpc.Extensions, IDS, st.booleans()),
    st.just(rpc.TestExtension()),
    PARTIALS,
    st.builds(rpc.IHave, NAMES, IDS),
    st.builds(rpc.IWant, IDS),
    st.builds(rpc.Graft, NAMES),
    st.builds(rpc.Prune, NAMES, st.sampled_from((None, rpc.UNSAID, 0, 5, 2**64 - 1)), OFFERED),
    st.builds(rpc.IDontWant, IDS),
    st.builds(rpc.Tx, NAMES),
    st.builds(rpc.HaveTx, NAMES),
    st.just(rpc.ResetRoute()),
    st.builds(rpc.Control, NAMES, IDS),
    st.builds(rpc.Stray, st.sampled_from(get_args(rpc.Fault))),
    st.builds(rpc.SeenTx, NAMES),
    st.builds(rpc.WantTx, NAMES),
)
REPEATED = st.lists(st.tuples(PARTS, st.integers(1, 12)), max_size=4).map(
    lambda found: tuple(part for part, times in found for _ in range(times))
)
EVENTS: st.SearchStrategy[Any] = st.one_of(
    st.builds(ev.Connect, BURSTS, st.one_of(st.just(ev.MESHSUB_1_2), NAMES), st.booleans()),
    st.builds(ev.Disconnect, BURSTS),
    st.builds(ev.Stall, BURSTS),
    st.builds(ev.Resume, BURSTS),
    st.builds(ev.Receive, BURSTS, REPEATED),
    st.builds(ev.Raw, BURSTS, NAMES),
    st.builds(ev.Join, NAMES, st.booleans(), st.booleans()),
    st.builds(
        ev.PublishPartial,
        NAMES,
        NAMES,
        st.lists(st.builds(ev.Decision, PEERS, MAYBE, MAYBE, MAYBE, st.booleans()), max_size=3).map(tuple),
    ),
    st.builds(ev.Feedback, NAMES, PEERS, st.sampled_from(get_args(ev.FeedbackKind))),
    st.builds(ev.Leave, NAMES),
    st.builds(ev.Publish, MESSAGES),
    st.builds(ev.Verdict, NAMES, st.sampled_from(get_args(ev.Judgement))),
    st.builds(ev.Score, BURSTS, st.integers(-(2**40), 2**40)),
    st.builds(ev.Advance, st.integers(0, 10**9)),
    st.builds(ev.Submit, NAMES),
    st.builds(ev.Commit, NAMES),
    st.just(ev.Adjust()),
)
OUTPUTS: st.SearchStrategy[Any] = st.one_of(
    st.builds(ev.Sent, st.integers(1, 60), PARTS),
    st.builds(ev.Delivered, MESSAGES),
    st.builds(ev.Offered, NAMES, NAMES, PEERS, NAMES, st.booleans()),
    st.builds(ev.GossipAsked, NAMES, NAMES, PEERS),
    st.builds(ev.PartialIn, PEERS, PARTIALS),
    st.builds(ev.Dialled, st.one_of(PEERS, st.just(STRANGER))),
    st.builds(ev.Closed, PEERS),
    st.builds(ev.Crashed, st.text(max_size=30)),
)
RUNS_OF_OUTPUTS = st.lists(st.tuples(OUTPUTS, st.integers(1, 4)), max_size=4).map(
    lambda found: tuple(output for output, times in found for _ in range(times))
)
MISFITS = st.builds(Misfit, st.sampled_from(("mesh.fill", "mesh.cut")), st.text(max_size=20))
SHOWN = st.builds(
    CaseOutput,
    st.sampled_from(("both", "model", "router")),
    st.one_of(OUTPUTS, MISFITS),
)


def blocks(kinds: Collection[str]) -> st.SearchStrategy[CaseBlock]:
    """Blocks whose malformed bytes are of these kinds."""
    known = st.builds(ev.Raw, BURSTS, st.sampled_from(sorted(kinds)))
    # Of at most twelve events none is longer than two hours, or they are more than a day.
    brief = EVENTS.map(lambda e: ev.Advance(e.ms % 7_200_001) if isinstance(e, ev.Advance) else e)
    events = st.one_of(brief.filter(lambda event: not isinstance(event, ev.Raw)), known)
    return st.builds(
        CaseBlock,
        st.lists(events, min_size=1, max_size=3).map(tuple),
        st.lists(SHOWN, max_size=4).map(tuple),
    )


PARAMETERS = st.one_of(
    st.builds(
        Parameters,
        d_low=st.integers(3, 6),
        gossip_factor=st.floats(0, 1),
        heartbeat_delay_ms=st.integers(0, 1000),
        flood_publish=st.booleans(),
        explicit_peers=st.frozensets(st.integers(1, 40), max_size=4),
        message_id=st.sampled_from(("content", "hex")),
        signature_policy=st.sampled_from(("StrictSign", "StrictNoSign")),
        validation=st.sampled_from(("accept", "manual")),
        graylist_threshold=st.integers(-1000, -21),
    ),
    st.builds(
        DogParameters, dog=st.booleans(), target_redundancy=st.floats(0.5, 9), pool_size=st.integers(1, 9)
    ),
)
PROSE = st.text(max_size=200).filter(lambda text: text.strip())


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any case that has a text."""
    parameters = draw(PARAMETERS)
    kinds = MALFORMED if isinstance(parameters, Parameters) else MALFORMED_MEMPOOL
    word = st.from_regex(r"[a-z][a-z0-9./-]{0,12}", fullmatch=True)
    shown = tuple(draw(st.lists(blocks(kinds), min_size=1, max_size=4)))
    # What holds is of the suite, or fixed; only what departs is open.
    known = STATUSES if any(block.departs for block in shown) else ("suite", "fixed")
    return Case(
        reason=draw(PROSE.filter(lambda text: not " ".join(text.split()).startswith("format:"))),
        claim=draw(word),
        clause=draw(word),
        protocols="gossipsub-1.2" if isinstance(parameters, Parameters) else "dog",
        against=draw(PROSE),
        status=draw(st.sampled_from(known)),
        quirk=draw(st.one_of(st.just(""), word)),
        as_built=tuple(draw(st.lists(word, max_size=2))),
        found_by=draw(st.text(max_size=150)),
        argument=draw(st.text(max_size=300)),
        parameters=parameters,
        seed=draw(st.integers(0, 2**63)),
        control=draw(st.sampled_from((None, *CONTROLS))),
        reproduced=draw(st.sampled_from((None, (3, 3), (0, 2)))),
        notes=tuple(draw(st.lists(st.text(max_size=150), max_size=3))),
        blocks=shown,
    )
