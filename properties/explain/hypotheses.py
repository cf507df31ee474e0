"""Explanations as hypotheses: an edit that accounts for one run has to predict others.

A minimal run is short, and many edits account for it by chance. So the router is played again: in runs of
which the minimal one is a part, and in others. An edit stands if it says what the router did in some of them
where the protocol without it does not, and errs in none where the protocol does not.
"""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, count, islice

from attrs import evolve, field, fields, frozen, mutable

from quidnunc.model.edit import Edit
from quidnunc.model.edits.ambiguities import WIDE
from quidnunc.model.edits.catalogue import rules_changed, size_of
from quidnunc.model.edits.operators.catalogue import FAMILIES, FORGETS, SIBLINGS
from quidnunc.model.edits.operators.everywhere import EVERYWHERE
from quidnunc.model.edits.operators.reads import names_read
from quidnunc.model.edits.quirks import QUIRKS
from quidnunc.model.events import Advance, Receive, Score, Sent
from quidnunc.model.mempool.cat.variants import CAT_READINGS, CAT_VARIANTS
from quidnunc.model.mempool.dog.variants import SWITCHES
from quidnunc.model.rpc import IHave, IWant
from quidnunc.model.rules import Protocol, Total
from quidnunc.properties.explain.counterfactuals import Counterfactuals
from quidnunc.properties.explain.followed import (
    ASKED,
    MEASURED,
    PROBE,
    SCORED,
    WITHOUT,
    Agreement,
    FollowedRun,
    FreshRun,
    StepNotes,
    agreement,
)
from quidnunc.properties.judge.oracle import Departure, Oracle, is_part_of
from quidnunc.properties.judge.play import ModelSubject, act_of, play_judged_by, same_act, steps_of

MOST_EXPLANATIONS = 6
"""Of one finding."""
MISSED = 2
"""An edit that says nothing new in the first so many runs with the departure is given up."""
NEARLY = 0.97
"""Of the steps of the best edit: who says so many is as good, because runs end where other faults show."""
MISSED_IN = 4
"""An edit may miss the departure in one of so many runs: another fault can look the same. And it may only
allow what was due once for so many runs that it explains: else it does not say when the router does it."""
LEAST_PREDICTED = 3
"""In so many fresh runs an explanation says what the router did where the protocol without it does not."""

FORGETS_SCORES = f"heartbeat{FORGETS}scores"
"""The edit by which the application's scores are forgotten at a heartbeat."""
MOST_LACKING = 6
"""Runs that show that the router has a rule, the first ones."""

LEANS_IN = 4
"""So many runs show whether an edit needs those that are in force to say what the router did."""
MOST_TIES = 2
"""Explanations that are named beside the first because nothing tells them from it."""
MOST_VARIED = 16
"""So many edits are asked of the runs in which one number is changed."""
MOST_WIDE = 3
"""So many edits of several rules besides: they are larger, and tell what else is as many rows."""
SEEN_IN_THE_FIELD = frozenset(
    edit.name for edit in (*QUIRKS, *SWITCHES.values(), *CAT_READINGS, *CAT_VARIANTS)
)
"""Of edits that predict the same, what some router was seen to do, or another text says, is likelier than
what neither is known of."""
TOO_MUCH = 0.25
"""Of what a router could have done at other numbers and did not, so much may be allowed by an edit that says
when it does it."""
SHARP = 0.5
"""Of the runs in which a router without an edit departs from the best one."""


@frozen
class Prediction:
    """How an edit did in fresh runs, each beside the protocol without it."""

    right: int = 0
    """Runs in which it says more of what the router did."""
    wrong: int = 0
    """Runs in which it says less."""
    missed: int = 0
    """Runs in which the departure that it is to explain comes, and it says no more."""
    agreed_in: tuple[int, ...] = ()
    """Steps of each run up to where it does not say what the router did."""
    only_allowed: int = 0
    """Runs in which something that the router sent was due without it, and it only allows that."""
    off: tuple[str, ...] = ()
    """Numbers of the minimal run on which the departure does not depend as it says."""
    refuted_in: FollowedRun | None = field(default=None, eq=False, repr=False)
    """The run in which it is wrong."""

    @property
    def agreed(self) -> int:
        return sum(self.agreed_in)

    def outdoes(self, other: Prediction) -> bool:
        """Whether it says more of some run, and less of none."""
        pairs = tuple(zip(self.agreed_in, other.agreed_in, strict=True))
        return all(own >= its for own, its in pairs) and any(own > its for own, its in pairs)

    def is_near(self, best: Prediction) -> bool:
        """Whether it says nearly as much, in nearly as many runs: then it may take its place if it falls."""
        return self.agreed >= NEARLY * best.agreed and self.right * MISSED_IN >= best.right * (MISSED_IN - 1)

    @property
    def stands(self) -> bool:
        return (
            not self.wrong
            and self.right >= LEAST_PREDICTED
            and self.right >= MISSED_IN * self.missed
            and not self.off
        )


def predict(edit: Edit, runs: Iterable[FollowedRun], departure: Departure) -> Prediction:
    """How an edit does in runs, each beside the protocol without it.

    Ends with the first run in which the edit is wrong, or when it was not right in any of the first runs
    in which the departure came. Runs with one number changed come last, and are asked only of an edit
    that stands: they say of which numbers the departure does not depend as the edit has it, and those of
    one number come together, so that it ends after the first of which it does not. One that is
    of a number alone has to say what comes of each: what it says of the minimal run may be chance. So do
    probes, in which the departure need not come: an edit can only be wrong in them, or say more than
    another. One that is wide is wrong where it leaves a departure that a score alone makes, and so is one by
    which that score is forgotten then. One that is
    no reading is wrong as well where the departure lacks what it needs, the router follows the protocol,
    and the edit leaves open whether it does.
    """
    right = missed = only_allowed = 0
    agreed = list[int]()
    right_of, missed_of = Counter[str](), Counter[str]()

    def is_off(varied: str) -> bool:
        missed_in = missed_of[varied] if varied not in ("", *ASKED) else 0
        return missed_in > 0 and (edit.of_number or missed_in >= right_of[varied])

    before = ""
    for followed in runs:
        varied, without = followed.run.varied, followed.plain
        if varied != before and is_off(before):
            break
        before = varied
        if varied and not (right >= LEAST_PREDICTED and right >= MISSED_IN * missed):
            break
        if _is_of_another(followed, edit):
            agreed.append(without.agreed)
            continue
        found = followed.under(edit)
        if found is None or _is_wrong(edit, followed, found) or _leaves_it(edit, followed, found, departure):
            return Prediction(right, 1, missed, refuted_in=followed)
        agreed.append(found.agreed)
        if varied not in ASKED:
            only_allowed += any(due > its for due, its in zip(without.owed, found.owed, strict=False))
        if found.agreed > without.agreed:
            right_of[varied] += 1
        elif any(same_act(d, departure) for d in without.departures):
            # At another number it may lose track of the run, and then it says neither.
            lost = bool(varied) and not found.departures
            missed_of[varied] += not lost and not _leaves_less(found, without, departure)
        right, missed = right_of[""], missed_of[""]
        if missed >= MISSED and not right:
            break
    return Prediction(right, 0, missed, tuple(agreed), only_allowed, tuple(filter(is_off, missed_of)))


def _is_of_another(followed: FollowedRun, edit: Edit) -> bool:
    """Whether the run is a trace that separates another reading, or measures a score that has another fault
    to it: other faults of the router show in it, and would refute what it was not made for."""
    return followed.run.separates not in ("", edit.name) or edit.name in followed.run.spares


def _leaves_it(edit: Edit, followed: FollowedRun, found: Agreement, departure: Departure) -> bool:
    """Whether a reading leaves the departure that it is to explain in the trace that separates it; or one
    that allows much in a probe, which goes to where that ends."""
    asked = bool(followed.run.separates) or (edit.name in WIDE and followed.run.varied == PROBE)
    return asked and any(same_act(d, departure) for d in found.departures)


def _is_wrong(edit: Edit, followed: FollowedRun, found: Agreement) -> bool:
    """Whether the edit, which says so much of the run, says less than the protocol without it."""
    if followed.run.varied == SCORED and found.departures:
        if _is_wide(edit, followed.protocol) or _has_forgotten(edit, followed, found):
            return True
    if edit.name in followed.run.asks and (
        any(act_of(d) == IWant.__name__ for d in found.departures) or _measures_less(edit, followed, found)
    ):
        return True
    return found.agreed < followed.plain.agreed and bool(found.departures or _leaves_open(edit, followed))


def _has_forgotten(edit: Edit, followed: FollowedRun, found: Agreement) -> bool:
    """Whether by the edit the score is forgotten where the router still departs for it."""
    before = [event for event, _ in followed.run.steps[: found.agreed]]
    given = max((at for at, event in enumerate(before) if isinstance(event, Score)), default=len(before))
    return edit.name == FORGETS_SCORES and any(isinstance(event, Advance) for event in before[given:])


def _measures_less(edit: Edit, followed: FollowedRun, found: Agreement) -> bool:
    """Whether the edit, which says something else of a score, leaves open what it is where the router has the
    one that the protocol without it says."""
    if edit.kind == "reading" or followed.run.varied != MEASURED or followed.plain.departures:
        return False
    less = any(due > its for due, its in zip(followed.plain.owed, found.owed, strict=False))
    return less or _lets_request(edit, followed)


def _lets_request(edit: Edit, followed: FollowedRun) -> bool:
    """Whether the edit allows what the router does not do, and the protocol without it forbids: to request
    what is advertised last."""
    steps = followed.run.steps
    last = max((at for at, (event, _) in enumerate(steps) if isinstance(event, Receive)), default=0)
    event, outputs = steps[last]
    ihaves = [part for part in getattr(event, "parts", ()) if isinstance(part, IHave)]
    if not isinstance(event, Receive) or not ihaves:
        return False
    wanted = tuple(Sent(event.peers[0], IWant((i,))) for part in ihaves for i in part.ids)
    requested = followed.with_outputs(last, (*outputs, *wanted))
    found = requested.under(edit)
    return bool(requested.plain.departures) and found is not None and found.agreed == last + 1


def _leaves_open(edit: Edit, followed: FollowedRun) -> bool:
    """Whether an edit that loses track of a run says too little: nothing departs in it, because it lacks what
    the departure needs. Such an edit allows both."""
    return edit.kind != "reading" and WITHOUT in followed.run.varied and not followed.plain.departures


def _leaves_less(found: Agreement, without: Agreement, departure: Departure) -> bool:
    """Whether with the edit less departs, fewer fields of a message or fewer acts, and nothing new: another
    fault is behind the rest."""
    rest, whole = found.departures, without.departures
    known = all(d in whole or any(is_part_of(d, w) for w in whole) for d in rest)
    return bool(rest) and known and not any(d in whole and same_act(d, departure) for d in rest)


def _is_wide(edit: Edit, protocol: Protocol) -> bool:
    """Whether it says something of scores wherever they matter: it changes a term of them, or all rules that
    read something."""
    terms = {r.name for c in protocol.handlers.values() if isinstance(c, Total) for r in c.rules}
    return edit.name.startswith(EVERYWHERE) or bool(rules_changed(edit, protocol) & terms)


class RunsToPredict(typing.Protocol):
    """Where runs of the router come from."""

    def around(self) -> Iterable[FreshRun]:
        """Runs that hold the minimal one, and others."""

    def measured(self, edits: Sequence[Edit]) -> Iterable[FreshRun]:
        """Runs that say what a score is where these edits differ in it, or are not as the protocol is."""

    def varied(self, read: Collection[str], readings: Sequence[str] = ()) -> Iterable[FreshRun]:
        """The minimal run with one number changed at a time, and probes; what separates `readings`."""


@mutable
class RunsAsNeeded:
    """Runs that can be gone through again and again, each played when it is first asked for.

    Where every edit is wrong in the first ones, the others are never played.
    """

    source: Iterator[FollowedRun]
    played: list[FollowedRun] = field(factory=list)

    def __iter__(self) -> Iterator[FollowedRun]:
        for at in count():
            if at == len(self.played):
                self.played += islice(self.source, 1)
            if at == len(self.played):
                return
            yield self.played[at]


def standing(
    edits: Sequence[Edit],
    fresh: RunsToPredict,
    protocol: Protocol,
    departure: Departure,
    clauses: Collection[str] = (),
) -> list[Edit]:
    """As `standing_and_ties`, without the ties."""
    return standing_and_ties(edits, fresh, protocol, departure, clauses)[0]


def standing_and_ties(
    edits: Sequence[Edit],
    fresh: RunsToPredict,
    protocol: Protocol,
    departure: Departure,
    clauses: Collection[str] = (),
    spec: Protocol | None = None,
) -> tuple[list[Edit], tuple[Edit, ...]]:
    """The edits that predict fresh runs, the best first: at most `MOST_EXPLANATIONS` of one rule, and then
    those of several rules. And those that tie with the first: they are as small, by the sizes of `spec`, and
    say the same in every run.

    Of those that say nearly the most, one that another outdoes comes behind. Readings come first. Then those
    that say it without what `protocol` has beyond `spec`. Then those that a router without them departs from,
    and that drop a rule, or change one of `clauses`, which the departure was judged by. Of equals, who comes
    first in `edits`.
    """
    runs, stand = _tested(edits, fresh, protocol, departure) if edits else ([], [])
    if not stand:
        return [], ()
    # What a router does that follows the protocol, and up to where it is to depart from an edit.
    plain = [
        (followed_plain_run(each.up_to_departure, protocol, seed), each.plain.agreed)
        for seed, each in enumerate(runs)
        if not each.run.varied and each.plain.departures
    ]
    sharpness = {edit: _departs_in(edit, plain) for edit, _ in stand}
    enough, sharp = NEARLY * max(told.agreed for _, told in stand), SHARP * max(sharpness.values())
    otherwise = Counterfactuals.of(runs, protocol, departure)
    never = {edit for edit, told in stand if _is_never_done(edit, told)}
    stand = [(e, t) for e, t in stand if otherwise.says_what(e, demands=bool(sharpness[e]) or e in never)]
    stand = [e for e in stand if otherwise.says_when(e[0])] or [e for e in stand if e[0] in never]
    played = [each.run for each in runs]
    later = _followed_plain((run for run in played if not run.varied), protocol)
    dropped = {edit.rule for edit, _ in stand if edit.kind == "dropped"}
    kept = {edit.rule: edit for edit in edits if edit.kind == "dropped" and edit.rule not in dropped}
    lax = {e: e.of_number and not sharpness[e] and otherwise.too_much(e) > TOO_MUCH for e, _ in stand}
    told_when = {e for e, _ in stand if sharpness[e] or otherwise.garbled or (e.of_number and not lax[e])}

    def is_told(edit: Edit) -> bool:
        when = edit in told_when or _says_when(edit, kept, later)
        when = when and (bool(sharpness[edit]) or _has_rule_there(edit, kept.get(edit.rule), runs))
        return when and (edit.name not in WIDE or _refutable(edit, played, protocol, dropped))

    stand = [(e, t) for e, t in stand if is_told(e)]
    best = [told for edit, told in stand if sharpness[edit] >= sharp]
    in_the_field = any(e.name in SEEN_IN_THE_FIELD for e, _ in stand)
    leaning = _leaning([e for e, _ in stand], runs, spec or protocol)

    def rank(each: tuple[Edit, Prediction]) -> tuple[bool, ...]:
        edit, told = each
        elsewhere = edit.kind != "dropped" and edit.clause not in clauses
        # What the texts leave open is no fault, whatever else would explain as much.
        number, operator = edit.of_number and in_the_field, edit.name not in SEEN_IN_THE_FIELD
        faults = (edit in leaning, number, sharpness[edit] < sharp, operator, elsewhere, lax[edit])
        worse = () if edit.kind == "reading" else (True, *faults)
        return (told.agreed < enough, any(other.outdoes(told) for other in best), *worse)

    def alike(each: tuple[Edit, Prediction]) -> tuple[object, ...]:
        return (rank(each), each[1].agreed_in, size_of(each[0], spec or protocol))

    listed = _near_ones(sorted(stand, key=rank))
    ties = (e for e, told in listed[1:] if alike((e, told)) == alike(listed[0]) and e.kind != "reading")
    return [edit for edit, _ in listed], tuple(islice(ties, MOST_TIES))


def _leaning(edits: Sequence[Edit], runs: Sequence[FollowedRun], spec: Protocol) -> set[Edit]:
    """The edits that say what the router did only together with what is explained already, where another one
    says it alone: they may lead to a rule that is edited, and be nothing in themselves."""
    known = [run for run in runs if not run.run.varied and run.plain.departures][:LEANS_IN]
    if len(edits) < 2 or not known or known[0].protocol == spec:
        return set()
    alone = [FollowedRun.of(run.run, spec) for run in known]
    alone = [own for own, run in zip(alone, known, strict=True) if own.plain.agreed == run.plain.agreed]

    def says_it(edit: Edit) -> bool:
        found = (run.under(edit) for run in alone)
        return any(
            told is not None and told.agreed > run.plain.agreed
            for told, run in zip(found, alone, strict=True)
        )

    leaning = {edit for edit in edits if not says_it(edit)}
    return leaning if len(leaning) < len(edits) else set()


def _is_never_done(edit: Edit, told: Prediction) -> bool:
    """Whether the edit is that a rule is not there, and explains every run with the departure, while no run
    shows that the router has the rule. What the rule forbids, or demands, may be free without it: then the
    edit cannot say when the router does it."""
    explains_all = told.right >= 2 * LEAST_PREDICTED and not told.missed
    return edit.kind == "dropped" and explains_all and not told.only_allowed


def _near_ones(ranked: Sequence[tuple[Edit, Prediction]]) -> list[tuple[Edit, Prediction]]:
    """Those that say nearly as much as the best fault; those of one rule first."""
    # A reading allows much, so that no fault says as much: they are measured by the best of their own.
    best_fault = next((told for edit, told in ranked if edit.kind != "reading"), None)
    near = [(e, told) for e, told in ranked if e.kind == "reading" or told.is_near(best_fault or told)]
    wide = [each for each in near if each[0].name.startswith(EVERYWHERE)]
    narrow = [each for each in near if each not in wide]
    return [*narrow[:MOST_EXPLANATIONS], *wide[:MOST_WIDE]]


@frozen
class PlayedAround:
    """Runs of the router, of which those around the minimal one were played before."""

    fresh: RunsToPredict
    played: RunsAsNeeded

    def around(self) -> Iterator[FreshRun]:
        return (followed.run for followed in self.played)

    def measured(self, edits: Sequence[Edit]) -> Iterable[FreshRun]:
        return self.fresh.measured(edits)

    def varied(self, read: Collection[str], readings: Sequence[str] = ()) -> Iterable[FreshRun]:
        return self.fresh.varied(read, readings)


def standing_of_known(
    edits: Sequence[Edit],
    fresh: RunsToPredict,
    protocol: Protocol,
    departure: Departure,
    clauses: Collection[str] = (),
    spec: Protocol | None = None,
) -> tuple[list[Edit], tuple[Edit, ...]]:
    """As `standing_and_ties`, of edits each of which was found by all fresh runs of some other departure.

    Where one alone predicts the runs around this one, that is enough.
    """
    around = RunsAsNeeded(_followed(fresh.around(), protocol))
    stand = [edit for edit, _ in _predicting(edits, around, departure)]
    if len(stand) < 2:
        return stand, ()
    return standing_and_ties(stand, PlayedAround(fresh, around), protocol, departure, clauses, spec)


def _followed(runs: Iterable[FreshRun], protocol: Protocol) -> Iterator[FollowedRun]:
    return (FollowedRun.of(run, protocol) for run in runs)


def _tested(
    edits: Sequence[Edit], fresh: RunsToPredict, protocol: Protocol, departure: Departure
) -> tuple[list[FollowedRun], list[tuple[Edit, Prediction]]]:
    """The runs, and the edits that stand in all of them; where none does, no more runs are played for it."""
    around = RunsAsNeeded(_followed(fresh.around(), protocol))
    stand = _predicting(edits, around, departure)
    if not stand:
        return [], []
    most = NEARLY * max(told.agreed for _, told in stand)

    def late(each: tuple[Edit, Prediction]) -> tuple[bool, bool]:
        return each[1].agreed < most, each[0].kind == "replaced" and each[0].name not in SEEN_IN_THE_FIELD

    left = [edit for edit, _ in sorted(stand, key=late)][:MOST_VARIED]
    narrow = [edit for edit in left if not edit.name.startswith(EVERYWHERE)]
    readings = [edit.name for edit in left if edit.kind == "reading"]
    read = parameters_read(narrow or left, protocol) | parameters_named(left, protocol)
    varied = chain(fresh.measured(left), fresh.varied(read, readings))
    runs = RunsAsNeeded(chain(around, _followed(varied, protocol)))
    stand = _predicting(left, runs, departure)
    return ([*runs] if stand else []), stand


def _predicting(
    edits: Sequence[Edit], runs: Iterable[FollowedRun], departure: Departure
) -> list[tuple[Edit, Prediction]]:
    stand = list[tuple[Edit, Prediction]]()
    refuting = list[FollowedRun]()
    for edit in edits:
        # What refuted an edit refutes many, and an edit that is wrong in some run does not stand, whichever.
        first = next((run for run in refuting if is_refuted(edit, run)), None)
        told = predict(edit, runs, departure) if first is None else Prediction(wrong=1, refuted_in=first)
        if told.refuted_in is not None:
            refuting = [told.refuted_in, *(run for run in refuting if run is not told.refuted_in)]
        if told.stands and (edit.kind == "reading" or told.only_allowed * MISSED_IN <= told.right):
            stand.append((edit, told))
    return stand


def is_refuted(edit: Edit, run: FollowedRun) -> bool:
    """Whether the edit is wrong in this run."""
    if _is_of_another(run, edit):
        return False
    found = run.under(edit)
    return found is None or _is_wrong(edit, run, found)


def parameters_read(edits: Iterable[Edit], protocol: Protocol) -> frozenset[str]:
    """Numbers among the parameters that are read by the rules which the edits change."""
    numbers = _numbers(protocol)
    changed = {name for edit in edits for name in rules_changed(edit, protocol)}
    rules = (rule for _, rule in protocol.rules() if rule.name in changed)
    read = {name for rule in rules for name in names_read(rule) & numbers}
    # One that is taken for another shows where that other one is changed.
    return frozenset(read.union(*(like for like in SIBLINGS if like & read)) & numbers)


def parameters_named(edits: Iterable[Edit], protocol: Protocol) -> frozenset[str]:
    """Numbers among the parameters for which edits of several rules take another one. All that these rules
    read would be too many."""
    wide = [edit.name for edit in edits if edit.name.startswith(EVERYWHERE)]
    as_words = {number: f"{EVERYWHERE}{number.replace('_', '-')}-" for number in _numbers(protocol)}
    return frozenset(n for n, words in as_words.items() if any(name.startswith(words) for name in wide))


def _numbers(protocol: Protocol) -> set[str]:
    kind = FAMILIES[protocol.family].parameters
    return {f.name for f in fields(kind) if type(f.default) in (int, float)}


def _refutable(reading: Edit, runs: Sequence[FreshRun], protocol: Protocol, dropped: Collection[str]) -> bool:
    """Whether a router without a rule that the reading changes departs from it in some run, where it explains
    as much that this rule is not there (`dropped`)."""
    changed = reading.applied_to(protocol)
    lacking = [protocol.without_rule(rule) for rule in rules_changed(reading, protocol) & {*dropped}]
    return changed is not None and all(
        any(agreement(plain_run(run, without, seed), changed).departures for seed, run in enumerate(runs))
        for without in lacking
    )


def _says_when(edit: Edit, kept: Collection[str], plain: Iterable[FollowedRun]) -> bool:
    """Whether an edit that only allows what the router did says when it does so. Another number does not,
    unless runs have shown that the router has the rule (`kept`)."""
    return not edit.of_number or edit.rule in kept or _says_more(edit, plain)


def _has_rule_there(edit: Edit, without: Edit | None, runs: Iterable[FollowedRun]) -> bool:
    """Whether an edit of a rule forbids what a router without the rule does, where runs show that the router
    has it. An edit that allows it wherever that is seen does not say when the router lacks the rule.

    `without`: the edit that drops the rule, if runs refute it. Only what it demands, and what did not come,
    can tell.
    """
    telling = (run for run in runs if without is not None and edit.kind != "reading")
    shown = list(islice(_without_rule(telling, without), MOST_LACKING))
    return not shown or any(_departs(run.under(edit), run) for run in shown)


def _without_rule(runs: Iterable[FollowedRun], without: Edit | None) -> Iterator[FollowedRun]:
    """Of each run that shows that the router has a rule: what one without the rule does up to that step."""
    for seed, run in enumerate(runs):
        lacking = run.under(without) if without is not None else None
        changed = without.applied_to(run.protocol) if without is not None else None
        if lacking is None or changed is None or lacking.agreed >= run.plain.agreed:
            continue
        if all(each.kind == "missing" for each in lacking.departures):
            begun = evolve(run.run, steps=run.run.steps[: lacking.agreed + 1], notes=None)
            yield FollowedRun.of(plain_run(begun, changed, seed), run.protocol)


def _departs(found: Agreement | None, run: FollowedRun) -> bool:
    return found is None or found.agreed < len(run.run.steps)


def _says_more(edit: Edit, plain: Iterable[FollowedRun]) -> bool:
    """Whether a router that follows the protocol departs from the edit in some run, and be it later than the
    one that is tested."""
    return any(found is not None and found.departures for found in (each.under(edit) for each in plain))


def _departs_in(edit: Edit, runs: Iterable[tuple[FollowedRun, int]]) -> int:
    """In how many of the runs the router departs from the edited protocol, at the given step or before."""
    found = ((run.under(edit), last) for run, last in runs)
    return sum(bool(each.departures) and each.agreed <= last for each, last in found if each is not None)


def plain_run(run: FreshRun, protocol: Protocol, seed: int) -> FreshRun:
    """The same events, and what a router does that follows the protocol."""
    return _plain_run(run, protocol, seed, Oracle(protocol, run.parameters, tells=False))


def followed_plain_run(run: FreshRun, protocol: Protocol, seed: int) -> FollowedRun:
    """That run as the protocol judges it, noted while it is played."""
    notes = StepNotes(protocol)
    return notes.followed(_plain_run(run, protocol, seed, notes.oracle(run.parameters)))


def _followed_plain(runs: Iterable[FreshRun], protocol: Protocol) -> RunsAsNeeded:
    return RunsAsNeeded(followed_plain_run(run, protocol, seed) for seed, run in enumerate(runs))


def _plain_run(run: FreshRun, protocol: Protocol, seed: int, oracle: Oracle) -> FreshRun:
    subject = ModelSubject(protocol, run.parameters, seed)
    played = play_judged_by(oracle, [event for event, _ in run.steps], subject)
    return FreshRun(steps_of(played.moments), run.parameters)
