"""What a case says in words is taken from its run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from attrs import evolve, field, fields, mutable

from quidnunc.model.edit import edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.events import (
    Advance,
    Closed,
    Connect,
    Crashed,
    Dialled,
    Event,
    GossipAsked,
    Join,
    Offered,
    Output,
    PartialIn,
    Receive,
    Score,
    Sent,
)
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rpc import Graft, IWant, Message, Partial, Prune, Subscribe
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.cases.case import Case
from quidnunc.properties.cases.choosing import chosen_words
from quidnunc.properties.cases.deciding import deciding_defaults
from quidnunc.properties.cases.file import parse, render
from quidnunc.properties.cases.router import control_by, repeated
from quidnunc.properties.cases.telling import (
    CITING,
    DepartingRun,
    contradiction,
    departing_run,
    headline,
    in_words,
    notes_of,
    sentence_of,
    with_true_excuses,
)
from quidnunc.properties.explain.root_cause import last_departures
from quidnunc.properties.judge.oracle import Departure
from quidnunc.properties.judge.play import ModelSubject, Opener, Play, play
from quidnunc.properties.notation.parameters import parameter_docs, parameters_read, parameters_told
from tests.helpers.pubsub_run import of
from tests.properties.cases.test_router import CROWDED, PLAIN, REGRAFT, SMALL, SPEC, case_of, found, simulated

FILLED: tuple[Event, ...] = (Join("t1"), Connect((1, 2)), Receive((1, 2), (Subscribe("t1"),)), Advance(500))


class Twice(ModelSubject):
    """Sends each GRAFT to the first peer twice, or crashes."""

    crashes = False

    def do(self, event: Event) -> tuple[Output, ...]:
        outputs = super().do(event)
        if self.crashes and isinstance(event, Advance):
            return (*outputs, Crashed("at bytes 0xdeadbeef"))
        return (*outputs, *(o for o in outputs if getattr(o, "part", None) == Graft("t1") and o.peer == 1))  # type: ignore[union-attr]


def told(
    events: Sequence[Event], subject: ModelSubject, excused: Sequence[str] = ()
) -> tuple[Play, DepartingRun]:
    rules = edited(SPEC, [edit_named(name, SPEC) for name in excused])
    run = play(events, subject, rules, SMALL)
    it = departing_run(run.moments, rules, SMALL)
    assert it is not None
    return run, it


def test_a_default_on_which_the_last_step_turns_is_told_and_no_other() -> None:
    rules, many = edited(SPEC, [edit_named("cut-at-d-high", SPEC)]), tuple(range(1, 13))
    start = (Join("t1"), Connect(many, outbound=True), Receive(many, (Graft("t1"),)))
    crowded = play([*start, Advance(500)], ModelSubject(rules, Parameters()), SPEC, Parameters())
    (line,) = deciding_defaults(crowded.moments, SPEC, Parameters())
    assert line.startswith("D_high=12, the kit's default, decides here: ")
    given = Parameters(d_high=12, d_low=4)
    assert deciding_defaults(crowded.moments, SPEC, given) == (line,)
    larger = Parameters(d_high=13)
    more = tuple(range(1, 14))
    start = (Join("t1"), Connect(more, outbound=True), Receive(more, (Graft("t1"),)))
    full = play([*start, Advance(500)], ModelSubject(rules, larger), SPEC, larger)
    assert last_departures(full) and not deciding_defaults(full.moments, SPEC, larger), "it is told anyway"


# -- headlines ----------------------------------------------------------------------------------------------


def test_a_headline_has_the_words_of_the_rule_and_the_peer_and_the_topic() -> None:
    finding = found("accepts-graft-inside-backoff", events=REGRAFT)
    case = in_words(case_of(finding), finding, finding.quirks[0].says)
    assert case.reason == "Accepts a GRAFT inside the backoff (peer a, topic t1)."
    finding = found("cut-at-d-high", events=CROWDED)
    assert (
        in_words(case_of(finding), finding, finding.quirks[0].says).reason
        == "Cuts its mesh at D_high, not above it (peers a, d, topic t1)."
    )


def test_what_nothing_accounts_for_is_told_by_act_clause_and_state() -> None:
    _, it = told(FILLED, Twice(SPEC, SMALL))
    assert headline(it, "") == (
        "Sends GRAFT t1 to a twice (gs1.0/heartbeat.fill); a is not in the mesh of t1."
    )
    missing = found("accepts-graft-inside-backoff", events=REGRAFT)
    it_is = departing_run(missing.moments, SPEC, SMALL, missing.departure)
    assert it_is is not None
    assert headline(it_is, "") == (
        "Does not send PRUNE t1 backoff=60 to a (gs1.1/backoff.regraft); a should be in backoff for another "
        "0.4 s, a is not in the mesh of t1."
    )
    endless = [*REGRAFT[:4], Receive((1,), (Prune("t1", 1 << 53),)), *REGRAFT[5:]]
    missing = found("accepts-graft-inside-backoff", events=endless)
    it_is = departing_run(missing.moments, SPEC, SMALL, missing.departure)
    assert it_is is not None and "in backoff for another 9007199254740987 s" in headline(it_is, "")
    unfilled = found("does-not-fill-mesh-to-d-at-heartbeat", events=[*FILLED])
    it_is = departing_run(unfilled.moments, SPEC, SMALL, unfilled.departure)
    assert it_is is not None
    assert headline(it_is, "") == (
        "Chooses no peers to graft at `advance 500ms`, where at least 2 are due (gs1.0/heartbeat.fill)."
    )


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("reset.target: 0 chosen, at least 1 required", "no peer to send ResetRoute to {}, where one is due"),
        (
            "mesh.fill: 1 chosen, at least 2 required",
            "only 1 of the peers to graft {}, where at least 2 are due",
        ),
        ("mesh.cut: 5 chosen, but not as the clause demands", "5 members to prune {}, and not those that"),
    ],
)
def test_a_choice_says_what_was_due(reason: str, said: str) -> None:
    _, it = told(FILLED, Twice(SPEC, SMALL))
    it = evolve(it, departure=Departure("choice", "gs1.0/heartbeat.fill", reason=reason))
    assert headline(it, "").startswith(f"Chooses {said.format('at `advance 500ms`')}")


def test_a_wrong_order_says_what_came_first() -> None:
    said = chosen_words("pool.order: x2t before x1t to 1", " at `connect a mempool`")
    assert said == "Sends x2t before x1t to a at `connect a mempool`, against the order of the pool"


def test_a_note_tells_a_choice_as_a_headline_does() -> None:
    unfilled = found("does-not-fill-mesh-to-d-at-heartbeat", events=[*FILLED])
    it = departing_run(unfilled.moments, SPEC, SMALL, unfilled.departure)
    assert "The router chooses no peers to graft, where at least 2 are due." in notes_of(
        evolve(PLAIN, quirk="cut-at-d-high"), it
    )
    assert not any("chooses" in note for note in notes_of(evolve(PLAIN, quirk=""), it))


def test_gossip_to_others_is_told_by_what_is_wrong_with_the_mesh() -> None:
    """A member that should be pruned is gossiped to, once it is: what is left out is its PRUNE."""
    message = Message("m1", "t1", 2)
    events = [
        Join("t1"),
        Connect((1, 2)),
        Receive((1, 2), (Subscribe("t1"), Graft("t1"))),
        Receive((2,), (message,)),
        Score((1,), -1),
        Advance(500),
    ]
    unpruned = found("keeps-mesh-members-whose-score-is-negative", events=events)
    it_is = departing_run(unpruned.moments, SPEC, SMALL, unpruned.departure)
    assert it_is is not None and it_is.departure.reason.startswith("gossip.targets")
    assert headline(it_is, "").startswith("Does not send PRUNE t1 backoff=60 to a (")


def test_a_run_that_contradicts_an_explanation_says_what_was_seen_and_what_was_not_expected() -> None:
    _, it = told(FILLED, Twice(SPEC, SMALL))
    place = "In another run, at `advance 500ms` (step 6), "
    assert contradiction(it) == (
        f"{place}the router sends GRAFT t1 to a twice; by that explanation it would not."
    )
    missing = found("accepts-graft-inside-backoff", events=REGRAFT)
    it_is = departing_run(missing.moments, SPEC, SMALL, missing.departure)
    assert it_is is not None and contradiction(it_is).endswith(
        "the router does not send PRUNE t1 backoff=60 to a; by that explanation it would."
    )
    unfilled = found("does-not-fill-mesh-to-d-at-heartbeat", events=[*FILLED])
    it_is = departing_run(unfilled.moments, SPEC, SMALL, unfilled.departure)
    assert it_is is not None and contradiction(it_is) == (
        f"{place}the router chooses no peers to graft, where at least 2 are due by that explanation."
    )
    differs = Departure("differs", "x/y", Sent(1, Prune("t1")), Sent(1, Graft("t1")))
    last = evolve(it.last, judged=evolve(it.last.judged, departures=(differs,)))
    assert contradiction(evolve(it, moments=(*it.moments[:-1], last), departure=differs)) == (
        f"{place}the router sends GRAFT t1 to a, where PRUNE t1 is due by that explanation."
    )


@pytest.mark.parametrize(
    ("observed", "expected", "said"),
    [
        (Closed(1), None, "Closes the connection to a (x/y)."),
        (None, Dialled(1), "Does not dial a (x/y)."),
        (
            PartialIn(1, Partial("t1", "f24-0")),
            None,
            "Hands partial message t1 f24-0 of a to the application (x/y).",
        ),
        (Offered("t1", "g1", 1), None, "Offers a to the application for t1 g1 (x/y)."),
        (GossipAsked("t1", "g1", 1), None, "Asks the application to gossip about t1 g1 to a (x/y)."),
        (
            Offered("t1", "g1", 1, "s2"),
            Offered("t1", "g1", 1, "s3"),
            "Offers a to the application for t1 g1 state s2, where `offer a t1 g1 state s3` is due (x/y).",
        ),
    ],
)
def test_what_goes_to_no_peer_is_told_in_words(
    observed: Output | None, expected: Output | None, said: str
) -> None:
    _, it = told(FILLED, Twice(SPEC, SMALL))
    departure = Departure("unexpected", "x/y", expected, observed)
    assert headline(evolve(it, departure=departure), "").partition(";")[0].removesuffix(".") + "." == said


def test_a_crash_is_told_without_what_caused_it() -> None:
    subject = Twice(SPEC, SMALL)
    subject.crashes = True
    _, it = told([Join("t1"), Advance(500)], subject)
    assert headline(it, "") == "Crashes."


# -- notes --------------------------------------------------------------------------------------------------


def test_an_output_that_came_twice_is_counted() -> None:
    _, it = told(FILLED, Twice(SPEC, SMALL))
    notes = notes_of(evolve(PLAIN, clause="gs1.0/heartbeat.fill"), it)
    assert notes == (
        "The router departs 0.5 s after its start; just before, a is not in the mesh of t1.",
        "`a: graft t1` came twice; once was due.",
    )


def test_of_what_a_heartbeat_does_to_a_mesh_its_size_is_told() -> None:
    finding = found("cut-at-d-high", events=CROWDED)
    it = departing_run(finding.moments, SPEC, SMALL, finding.departure)
    (first, *_) = notes_of(PLAIN, it)
    assert f"just before, the mesh of t1 has {SMALL.d_high} members, a is in the mesh of t1" in first


def test_the_sentence_is_that_of_the_step_and_a_note_names_where_its_explanation_is() -> None:
    _, it = told(FILLED, Twice(SPEC, SMALL))
    assert it.clause == "gs1.0/heartbeat.fill"
    plain, named = evolve(PLAIN, quirk=""), evolve(PLAIN, quirk="cut-at-d-high")
    cited = [note for case in (plain, named) for note in notes_of(case, it) if note.startswith(CITING)]
    sentence = sentence_of(PLAIN.clause)
    assert cited == [f"It is filed under {sentence}", f"The explanation is in {sentence}"]
    assert not any(note.startswith(CITING) for note in notes_of(evolve(PLAIN, clause=it.clause), it))
    assert sentence_of("gs1.0/heartbeat.fill").startswith(
        'gs1.0/heartbeat.fill (gossipsub-1.0): "If there are'
    )
    assert not sentence_of("no/clause")


def test_what_is_excused_is_said_in_words() -> None:
    case = evolve(PLAIN, as_built=("starts-no-backoff-for-peer-that-it-prunes", "heartbeat-prunes-bare"))
    assert notes_of(case, None) == (
        "The router also starts no backoff for a peer that it prunes; that departure is filed on its own and "
        "excused here.",
        "The router also announces no backoff in the PRUNEs of the heartbeat; that departure is filed on its "
        "own and excused here.",
    )


def test_what_is_excused_and_has_no_finding_is_not_said_to_be_filed() -> None:
    names = ("starts-no-backoff-for-peer-that-it-prunes", "heartbeat-prunes-bare")
    case = evolve(PLAIN, as_built=names, notes=("Before.", *notes_of(evolve(PLAIN, as_built=names), None)))
    assert with_true_excuses(case, names) == case
    before, gone, kept = with_true_excuses(case, names[1:]).notes
    assert (before, kept) == (case.notes[0], case.notes[2])
    assert gone == (
        "The router also starts no backoff for a peer that it prunes; that is excused here. No finding is "
        "named after this explanation any more."
    )


def test_what_came_instead_stands_beside_what_was_due() -> None:
    nine = tuple(range(1, 10))
    events = (Connect(nine, outbound=True), Join("t1"), Receive(nine, (Graft("t1"),)), Advance(500))
    text = render(case_of(found("heartbeat-prunes-bare", events=events)))
    lines = [line for line in text.splitlines() if "prune" in line and line[0] in "-+"]
    assert [line[0] for line in lines] == ["-", "+"]
    assert lines[0].removesuffix(" backoff=60")[1:] == lines[1][1:]


# -- parameters ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Parameters, DogParameters, ScoreParameters, TopicScoreParameters])
def test_each_parameter_has_a_sentence(kind: type) -> None:
    said = parameter_docs(kind)
    assert said.keys() >= {each.name for each in fields(kind)}
    assert all(text.endswith(".") and text[0].isupper() or text[0] == "`" for text in said.values())


def test_parameters_are_told_with_their_defaults() -> None:
    words = "D=4 flood_publish=no max_ihave_length=2147483648 scores.t1.topic_weight=2"
    assert parameters_told(parameters_read(words, "gossipsub-1.2")) == (
        "D=4 (default 6): How many members a mesh should have.",
        "flood_publish=no (default yes): Whether own messages go to all peers of the topic, not to the mesh "
        "alone.",
        "scores.t1.topic_weight=2.0 (default 1.0): How much the topic counts in the score.",
        "Out of play, because the driver lifts the limit: max_ihave_length.",
    )
    assert not parameters_told(Parameters())


# -- what is asked when a case is written -------------------------------------------------------------------


def regraft() -> Case:
    finding = found("accepts-graft-inside-backoff", events=REGRAFT)
    return in_words(case_of(finding), finding, finding.quirks[0].says)


def test_the_control_and_the_repeats_are_counted_and_kept() -> None:
    case, broken = regraft(), simulated("accepts-graft-inside-backoff")
    assert repeated(case, broken, 4) == (4, 4)
    assert repeated(case, simulated(), 3) == (0, 3)
    assert control_by(case, simulated()) == "passes"
    assert control_by(case, broken) == "departs"
    whole = evolve(case, control="passes", reproduced=(4, 4))
    assert parse(render(whole)) == whole


def test_who_cannot_be_opened_is_not_asked() -> None:
    def none(config: object) -> ModelSubject:
        raise ValueError("no such router")

    opener: Opener = none
    assert repeated(regraft(), opener) is None
    assert control_by(regraft(), opener) == "not asked"


@mutable
class Sending(ModelSubject):
    """Sends a message to a peer upon one event, whatever the model does."""

    upon: Event = field(kw_only=True)

    def do(self, event: Event) -> tuple[Output, ...]:
        sent = (Sent(1, Message("m1", "t1", 3)),) if event == self.upon else ()
        return (*super().do(event), *sent)


def test_a_headline_has_of_the_state_what_decides_the_output() -> None:
    """Mutants: it tells a backoff where a message is relayed, and the mesh where one was asked for."""
    small = Parameters(d=1, d_low=0, d_out=0)
    member = (Connect((1,)), Join("t1"), of(1, Subscribe("t1"), Graft("t1")), of(1, Prune("t1", 60)))
    facts = []
    for last in (of(2, Message("m1", "t1", 3)), of(1, IWant(("m1",)))):
        events = (*member, Connect((2,)), last)
        run = play(events, Sending(SPEC, small, upon=last), SPEC, small)
        it_is = departing_run(run.moments, SPEC, small, last_departures(run)[0])
        assert it_is is not None
        facts.append(headline(it_is, "").partition("; ")[2])
    assert facts == ["a is not in the mesh of t1.", ""]
