"""What is behind the cases of the fixed suite that depart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve, field, frozen, mutable

from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.ambiguities import WIDE, reading_named
from quidnunc.model.edits.catalogue import NAMED, edit_named
from quidnunc.model.edits.operators.catalogue import FORGETS
from quidnunc.model.edits.operators.everywhere import EVERYWHERE
from quidnunc.model.events import Event
from quidnunc.model.rules import Protocol
from quidnunc.properties.cases.case import Case, events_of
from quidnunc.properties.cases.fitting import fitted_parameters
from quidnunc.properties.claims.catalogue import breach_of
from quidnunc.properties.explain.followed import FollowedRun, FreshRun
from quidnunc.properties.explain.root_cause import Finding, accounts_for, last_departures
from quidnunc.properties.explain.runs import blamed_clauses
from quidnunc.properties.judge.play import (
    ModelSubject,
    Moment,
    Play,
    RecordedStep,
    Subject,
    clauses_left_open,
    play,
    rejudge,
    steps_of,
)
from quidnunc.properties.search.machine import FindingSearch, signature_of
from quidnunc.properties.search.rows import may_be_kept_at_times
from quidnunc.properties.suite.explainers import Explain, Question
from quidnunc.properties.suite.files import suite_of
from quidnunc.properties.suite.remembered import PlayedOtherwiseError, RememberedSubject
from quidnunc.properties.suite.time_limit import demand_time


@frozen
class DepartingCase:
    """A case that departs, as it was played."""

    name: str
    case: Case
    parameters: Any
    run: Play
    seen: list[RecordedStep] = field(factory=list, eq=False, repr=False)
    """What the router was seen to do in its events, further than in `run` where a later play went further."""

    def __attrs_post_init__(self) -> None:
        self.seen.extend(steps_of(self.run.moments))

    @property
    def events(self) -> tuple[Event, ...]:
        return events_of(self.case)

    def question(self, run: Play, in_force: Sequence[Edit] = (), withdrawn: Sequence[str] = ()) -> Question:
        """What is behind `run`, which is of this case; not what is `withdrawn`."""
        names, seed = tuple(edit.name for edit in in_force), self.case.seed
        return Question(self.events, tuple(run.moments), self.parameters, seed, names, tuple(withdrawn))


@frozen
class PassedCase:
    """A case in which the router did what the protocol allows."""

    name: str
    case: Case
    parameters: Any
    moments: tuple[Moment, ...]
    _followed: list[FollowedRun] = field(factory=list, eq=False, repr=False)

    def refutes(self, edit: Edit, spec: Protocol) -> bool:
        """Whether a router that has the edit would depart from it here."""
        if not self._followed:
            self._followed.append(FollowedRun.of(FreshRun(steps_of(self.moments), self.parameters), spec))
        found = self._followed[0].under(edit)
        # An edit may take away what makes a choice possible, which is not how a router would depart from it.
        return found is not None and any(each.kind != "choice" for each in found.departures)


@frozen
class SuiteFinding:
    """What one case shows."""

    finding: Finding
    in_force: tuple[str, ...] = ()
    """Explanations of other cases that take part in it."""
    addition: str = ""
    """The router's own addition to the protocol that it comes from."""
    without: tuple[str, ...] = ()
    """Additions that were switched off when it was found."""
    waits: bool = False
    """Its explanation is to wait for those of other cases that depart in the same way."""

    @property
    def is_explained(self) -> bool:
        return bool(self.finding.quirks) and not self.waits

    def stands(self, withdrawn: Collection[str]) -> bool:
        """Whether nothing that it rests on is among the names of explanations that were withdrawn."""
        return {*self.in_force, *(quirk.name for quirk in self.finding.quirks[:1])}.isdisjoint(withdrawn)


MOST_ALIKE = 4
"""Of the runs that the same edits explain, so many are asked of other edits."""


@frozen
class ExplainedRun:
    """A run that is in order under some edits, the last of which explains it."""

    edits: tuple[Edit, ...]
    moments: tuple[Moment, ...]
    parameters: Any

    def breaks_under(self, edit: Edit, spec: Protocol) -> bool:
        """Whether it is not in order any more with another one. Then both cannot be at work, and the run
        departs without those that explain it."""
        if edit in self.edits or may_be_kept_at_times(edit.name, edit.kind):
            return False
        agreed, found = rejudge(self.moments, edited(spec, [*self.edits, edit]), self.parameters)
        # An edit may take away what makes a choice possible.
        return agreed < len(self.moments) and any(each.kind != "choice" for each in found)


@mutable
class KnownOfCase:
    """What explanations of other cases make of one: those that were confirmed when it was last looked at."""

    run: Play
    """Under those that take part in it."""
    asked: int = 0
    """How many they were."""
    accounting: tuple[Edit, ...] = ()
    """Those of which each alone accounts for it."""
    part: tuple[Edit, ...] = ()
    """Those under which the router departs later in it, or in less."""


@mutable
class SuiteExplanations:
    """What is behind the cases that depart, tested on the router as in a search."""

    hunt: FindingSearch
    explain: Explain
    departing: Sequence[DepartingCase] = ()
    """All cases that depart."""
    passed: Sequence[PassedCase] = ()
    """All others."""
    confirmed: list[Edit] = field(factory=list)
    _waiting: list[Edit] = field(factory=list)
    _shown: list[ExplainedRun] = field(factory=list)
    """What the confirmed ones explain."""
    _asked: dict[tuple[str, int, int], SuiteFinding | Question | None] = field(factory=dict)
    """By the name of a case, and how many explanations were confirmed, and withdrawn, when it was looked
    at."""
    _known: dict[str, KnownOfCase] = field(factory=dict)
    """By the name of a case."""
    _behind: dict[str, KnownOfCase] = field(factory=dict)
    """The same of what comes behind a deviation."""
    _passed_without: dict[str, PassedCase | None] = field(factory=dict)
    """Passed cases by name, as they are without the additions that are off; None where the router departs."""
    _seen_behind: set[str] = field(factory=set)
    """Names of the cases of which all that comes behind a deviation was explained, as far as it can be."""
    _given_up: dict[str, DepartingCase] = field(factory=dict)
    """By name: the cases that were not looked into, because enough of their kind was not explained."""

    @property
    def withdrawn(self) -> Sequence[str]:
        """Names of explanations that do not go with others, in the order in which that showed."""
        return self.hunt.withdrawn

    def finding(self, each: DepartingCase, after: Sequence[DepartingCase] = ()) -> SuiteFinding | None:
        """The finding of one case; None where enough that departed in this way was not explained, or where
        what was found in other cases accounts for all of it. `after`: the cases that come next.

        An explanation that stands for an earlier case is taken for this one. Those that do not account for it
        alone are in force while the rest is explained.
        """
        asked = self._question(each)
        if isinstance(asked, SuiteFinding):
            self._show(ExplainedRun(asked.finding.quirks[:1], asked.finding.moments, each.parameters))
        if not isinstance(asked, Question):
            return asked
        if not self._is_left(asked, each):
            return None
        if (waits := self._as_what_waits(asked)) is not None:
            return waits
        return self._told(asked, self._ahead(asked, map(self._question, after)), may_wait=True)

    def given_up(self) -> Iterator[tuple[Finding, DepartingCase]]:
        """The cases that were not looked into and that nothing accounts for, with what departs in each."""
        for each in self._given_up.values():
            asked = self._question(each)
            if isinstance(asked, Question) and not self._readings_account_for(each):
                in_force = [edit_named(name, self.hunt.spec) for name in asked.in_force]
                told = blamed_clauses(asked.moments, edited(self.hunt.spec, in_force), asked.parameters)
                yield Finding(asked.events, asked.moments, asked.departure, (), told), each

    def accounted(self, each: DepartingCase) -> SuiteFinding | None:
        """The finding of a case for which an explanation that is confirmed accounts alone."""
        asked = self._question(each)
        return asked if isinstance(asked, SuiteFinding) else None

    def may_differ(self, each: DepartingCase, known: Sequence[Edit], before: int) -> bool:
        """Whether the case departs otherwise where those that are `known` are in force than where those are
        that were known `before`."""
        moments, spec = each.run.moments, self.hunt.spec
        now, then = (edited(spec, edits) for edits in (known, known[:before]))
        return rejudge(moments, now, each.parameters) != rejudge(moments, then, each.parameters)

    def again(
        self, each: DepartingCase, known: Sequence[Edit], after: Sequence[DepartingCase] = ()
    ) -> SuiteFinding | None:
        """The finding of a case that nothing explained, with those that are `known` by now in force; None
        where they account for it, or all that were found since with them."""
        asked = self._question_again(each, known)
        if asked is None or self._question_again(each, self.confirmed) is None:
            return None
        ahead = (self._question_again(other, known) for other in after)
        return self._told(asked, (question for question in ahead if question is not None))

    def behind(self, each: DepartingCase, after: Sequence[DepartingCase] = ()) -> Iterator[SuiteFinding]:
        """What departs later in a case that ends, so far, where the router deviates and fails nothing.

        The explanation of what comes first is in force there. `after`: the cases that come next.
        """
        asked_under = set[tuple[str, ...]]()
        while (asked := self._question_behind(each)) is not None and asked.in_force not in asked_under:
            asked_under.add(asked.in_force)
            if not self._is_left(asked, each):
                break
            told = self._told(asked, self._ahead(asked, map(self._question_behind, after)))
            yield told
            if not told.finding.quirks:
                break
        self._seen_behind.add(each.name)

    def _is_left(self, asked: Question, each: DepartingCase) -> bool:
        """Whether the question is worth an answer: not what readings allow together, nor what departs as much
        else does that nothing explains, whose clauses are left open."""
        if self._readings_account_for(each):
            return False
        if self.hunt.worth_explaining(asked.departure):
            return True
        self.hunt.leave_open(None, asked.departure, {*clauses_left_open(asked.moments[-1].judged)})
        self._given_up[each.name] = each
        return False

    def left_of(self, each: DepartingCase) -> SuiteFinding | Question | None:
        """What is known of a case that nobody comes to explain: its finding, the question that stays, or
        None if what was found in other cases accounts for it, or nothing explains enough that is like it.

        Raises TimeIsUpError.
        """
        asked = self._question(each)
        if not isinstance(asked, Question):
            return asked
        if self.confirmed and self._question_again(each, self.confirmed) is None:
            return None
        if (waits := self._as_what_waits(asked)) is not None:
            return self.in_the_end(waits)
        return asked if self._is_left(asked, each) else None

    def left_behind(self, each: DepartingCase) -> Question | None:
        """What departs behind the deviation in which a case ends, if that was not explained or is in order.

        Raises TimeIsUpError.
        """
        asked = None if each.name in self._seen_behind else self._question_behind(each)
        return asked if asked is not None and self._is_left(asked, each) else None

    def _question_behind(self, each: DepartingCase) -> Question | None:
        """What the router does that is not in order once what it deviates in first is; None where all is."""
        first = self._question(each)
        if not isinstance(first, SuiteFinding) or _fails(first.finding):
            return None
        edit = first.finding.quirks[0]
        if each.name not in self._behind:
            run = self._played(each, edited(self.hunt.spec, [edit]))
            self._behind[each.name] = KnownOfCase(run, part=(edit,))
        known = self._behind[each.name]
        new, known.asked = self.confirmed[known.asked :], len(self.confirmed)
        self._let_take_part(new, each, known)
        return self._asking(each, known.run, known.part)

    def _question(self, each: DepartingCase) -> SuiteFinding | Question | None:
        """What is to be explained in a case, or what is known of it without."""
        key = each.name, len(self.confirmed), len(self.hunt.withdrawn)
        if key not in self._asked:
            self._asked[key] = self._what_is_left(each)
        return self._asked[key]

    def _what_is_left(self, each: DepartingCase) -> SuiteFinding | Question | None:
        spec, moments = self.hunt.spec, tuple(each.run.moments)
        known = self._known.setdefault(each.name, KnownOfCase(each.run))
        new, known.asked = self.confirmed[known.asked :], len(self.confirmed)
        known.accounting += tuple(q for q in new if accounts_for(q, moments, spec, each.parameters))
        if known.accounting:
            departure, told = last_departures(each.run)[0], blamed_clauses(moments, spec, each.parameters)
            finding = Finding(each.events, moments, departure, known.accounting, told)
            return SuiteFinding(finding, without=self.hunt.without)
        self._let_take_part(new, each, known)
        return self._asking(each, known.run, known.part)

    def _question_again(self, each: DepartingCase, in_force: Sequence[Edit]) -> Question | None:
        run = self._played(each, edited(self.hunt.spec, in_force))
        return self._asking(each, run, in_force)

    def _asking(self, each: DepartingCase, run: Play, in_force: Sequence[Edit]) -> Question | None:
        """The question what is behind a run of the case; None where all is in order."""
        return each.question(run, in_force, self.hunt.withdrawn) if last_departures(run) else None

    def _readings_account_for(self, each: DepartingCase) -> bool:
        """Whether what the router does is in order as it reads the open sentences: several readings may allow
        together what none of them does alone."""
        readings = [edit for edit in self.confirmed if edit.kind == "reading"]
        return len(readings) > 1 and self._question_again(each, readings) is None

    def _ahead(self, asked: Question, after: Iterable[SuiteFinding | Question | None]) -> Iterator[Question]:
        """What is likely to be asked next: of cases that depart in another way, each way once."""
        seen = {signature_of(asked.departure)}
        for each in after:
            if isinstance(each, Question) and not self.hunt.given_up(each.departure):
                signature = signature_of(each.departure)
                if signature not in seen:
                    seen.add(signature)
                    yield each

    def _let_take_part(self, new: Sequence[Edit], each: DepartingCase, known: KnownOfCase) -> None:
        """Put explanations of other cases in force under which the router departs later, or in less."""
        left = [edit for edit in new if edit not in known.part]
        while left and last_departures(known.run):
            part = (*known.part, left.pop(0))
            changed = edited(self.hunt.spec, part)
            if not _may_go_further(known.run, changed, each.parameters):
                continue
            run = self._played(each, changed)
            if not run.blurred and _how_far(run) > _how_far(known.run):
                known.part, known.run = part, run
                # Beside this one, those may matter that did not before.
                left = [edit for edit in self.confirmed if edit not in part]

    def _played(self, each: DepartingCase, protocol: Protocol) -> Play:
        demand_time(self.hunt)

        def opened() -> Subject:
            return self.hunt.opener(self.hunt.config(each.parameters, each.case.seed))

        try:
            remembered = RememberedSubject(self.hunt.hello, opened, each.seen)
            return play(each.events, remembered, protocol, each.parameters)
        except PlayedOtherwiseError:
            return play(each.events, opened(), protocol, each.parameters)

    def _told(self, asked: Question, ahead: Iterator[Question], *, may_wait: bool = False) -> SuiteFinding:
        told = self.explain(asked, ahead).finding(asked, self.hunt)
        if at_odds := [edit for edit in told.quirks if self._is_at_odds(asked, edit)]:
            # Those that go with the rest may have been passed over because these say more.
            for edit in at_odds:
                self._withdraw(edit)
            asked = evolve(asked, withdrawn=tuple(self.hunt.withdrawn))
            return self._told(asked, iter(()), may_wait=may_wait)
        found, rival = self._as_in_other_cases(told), told.quirks[0] if told.quirks else None
        if rival is not None and rival.name in self.hunt.known and not found.quirks:
            # It was not asked enough to leave the case without an explanation.
            asked = evolve(asked, withdrawn=(*asked.withdrawn, rival.name))
            return self._told(asked, iter(()), may_wait=may_wait)
        if rival is None or rival.name not in NAMED[self.hunt.spec.family]:
            # Of what nothing explains, another fault may have ended the runs in which a reading was tried.
            found = evolve(found, quirks=(*self._wide_readings(asked, rival), *found.quirks))
        # What is wrong in several rules at once may be two faults that this case has together; so may be what
        # is forgotten, which many rules read.
        waits = may_wait and bool(found.quirks) and _is_of_many_rules(found.quirks[0].name)
        if waits:
            self._waiting.append(found.quirks[0])
        elif found.quirks:
            self.confirmed.append(found.quirks[0])
            self._show(self._run_of(asked, found.quirks[0]))
        else:
            self.hunt.signatures[signature_of(asked.departure)] += 1
        return SuiteFinding(found, asked.in_force, without=self.hunt.without, waits=waits)

    def _as_what_waits(self, asked: Question) -> SuiteFinding | None:
        """The finding of a case for which an explanation that waits accounts, too."""
        moments, spec = asked.moments, self.hunt.spec
        protocol = edited(spec, [edit_named(name, spec) for name in asked.in_force])
        found = (w for w in self._waiting if accounts_for(w, moments, protocol, asked.parameters))
        if (edit := next(found, None)) is None:
            return None
        told = blamed_clauses(moments, protocol, asked.parameters)
        finding = Finding(asked.events, moments, asked.departure, (edit,), told)
        return SuiteFinding(finding, asked.in_force, without=self.hunt.without, waits=True)

    def in_the_end(self, told: SuiteFinding) -> SuiteFinding:
        """A finding that nothing else has explained meanwhile: what waited for that is confirmed."""
        if told.waits and (edit := told.finding.quirks[0]) not in self.confirmed:
            self.confirmed.append(edit)
        return evolve(told, waits=False)

    def _run_of(self, asked: Question, edit: Edit) -> ExplainedRun:
        in_force = (edit_named(name, self.hunt.spec) for name in asked.in_force)
        return ExplainedRun((*in_force, edit), asked.moments, asked.parameters)

    def _show(self, run: ExplainedRun) -> None:
        """Note what is explained, and withdraw the explanations of other cases that do not go with it."""
        spec = self.hunt.spec
        if sum(each.edits == run.edits for each in self._shown) >= MOST_ALIKE:
            return
        self._shown.append(run)
        for edit in [edit for edit in self.confirmed if run.breaks_under(edit, spec)]:
            own = (each for each in self._shown if each.edits[-1] == edit)
            if not any(each.breaks_under(run.edits[-1], spec) for each in own):
                self._withdraw(edit)

    def _withdraw(self, edit: Edit) -> None:
        """Take it out of all that is asked or told from now on, whether it was confirmed, waits, or not."""
        self.hunt.withdrawn.append(edit.name)
        self._waiting = [each for each in self._waiting if each != edit]
        if edit not in self.confirmed:
            return
        at = self.confirmed.index(edit)
        del self.confirmed[at]
        self._shown = [each for each in self._shown if edit not in each.edits]
        for cases in (self._known, self._behind):
            for name, known in list(cases.items()):
                known.accounting = tuple(each for each in known.accounting if each != edit)
                known.asked -= known.asked > at
                if edit in known.part:
                    del cases[name]

    def _as_in_other_cases(self, found: Finding) -> Finding:
        """The finding, without explanations by which the router would depart in a case that it passes.

        They predict fresh runs of one case. Another case may ask of the rule what these do not.
        """
        for at, edit in enumerate(found.quirks):
            if not self._is_refuted(edit):
                ties = tuple(each for each in found.ties if at == 0 and not self._is_refuted(each))
                return evolve(found, quirks=found.quirks[at:], ties=ties)
        return evolve(found, quirks=(), ties=())

    def _is_at_odds(self, asked: Question, edit: Edit) -> bool:
        """Whether it does not go with what is explained, of which each goes with it."""
        own, spec = self._run_of(asked, edit), self.hunt.spec
        broken = (run for run in self._shown if run.breaks_under(edit, spec))
        return any(not own.breaks_under(run.edits[-1], spec) for run in broken)

    def _is_refuted(self, edit: Edit) -> bool:
        demand_time(self.hunt)
        refuting = (each for each in self.passed if each.refutes(edit, self.hunt.spec))
        if not self.hunt.without:
            return any(True for _ in refuting)
        # They were passed with all additions on, and some may have been for that reason alone.
        passed = map(self._passed_without_additions, refuting)
        return any(each is not None and each.refutes(edit, self.hunt.spec) for each in passed)

    def _passed_without_additions(self, each: PassedCase) -> PassedCase | None:
        if each.name not in self._passed_without:
            opened = self.hunt.opener(self.hunt.config(each.parameters, each.case.seed))
            run = play(events_of(each.case), opened, self.hunt.spec, each.parameters)
            is_passed = not run.blurred and not last_departures(run)
            again = PassedCase(each.name, each.case, each.parameters, tuple(run.moments))
            self._passed_without[each.name] = again if is_passed else None
        return self._passed_without[each.name]

    def _wide_readings(self, asked: Question, rival: Edit | None) -> Iterator[Edit]:
        """A reading that allows, in all cases of the suite, what `rival` explains and not all it would do, or
        what nothing explains.

        Fresh runs of one case may not go to where a wide reading ends. It is passed over there, lest a router
        without any bound pass for one that has another. Some case of the suite may go that far.
        """
        protocol = edited(self.hunt.spec, [edit_named(name, self.hunt.spec) for name in asked.in_force])
        for name in sorted(WIDE):
            reading = reading_named(name)
            if accounts_for(reading, asked.moments, protocol, asked.parameters):
                changed = edited(self.hunt.spec, [reading])
                if rival is not None:
                    told = self._tells_apart(changed, rival)
                else:
                    # It may do more, unless no case breaks the same sentence beside all that is known.
                    known = edited(self.hunt.spec, [*self.confirmed, reading])
                    told = not self._is_refuted(reading)
                    told = told and self._allows_its_own(known, asked.departure.clause)
                if told and self._allows_its_own(changed, reading.clause):
                    yield reading
                    return

    def _allows_its_own(self, changed: Protocol, clause: str) -> bool:
        """Whether no case departs from the sentence that a reading changes, once it is read so."""
        runs = (self._played(each, changed) for each in self.departing)
        return not any(d.clause == clause for run in runs for d in last_departures(run))

    def _tells_apart(self, changed: Protocol, rival: Edit) -> bool:
        """Whether a router as `rival` has it departs in some case that this router can be played."""
        built = edited(self.hunt.spec, [rival])
        fitted = ((case, *fitted_parameters(case, self.hunt.hello)) for _, case in suite_of(changed.name))
        able = ((events_of(case), given) for case, given, needs in fitted if not needs)
        runs = (play(events, ModelSubject(built, given), changed, given) for events, given in able)
        return any(map(last_departures, runs))


def _is_of_many_rules(name: str) -> bool:
    return name.startswith(EVERYWHERE) or FORGETS in name


def _fails(finding: Finding) -> bool:
    """Whether it breaks what binds, which is told without the rest of its run."""
    return finding.quirks[0].kind != "reading" and breach_of(finding.clause) == "fails"


def _may_go_further(run: Play, changed: Protocol, parameters: Any) -> bool:
    """Whether another run of the same events might, by what was seen in this one; playing takes longer."""
    agreed, found = rejudge(run.moments, changed, parameters)
    cannot_be = any(departure.kind == "choice" for departure in found)
    return cannot_be or (agreed + 1, -len(found)) > _how_far(run)


def _how_far(run: Play) -> tuple[int, int]:
    """How far a run goes without a departure, and with how few it ends there."""
    found = last_departures(run)
    return (len(run.moments) if found else len(run.moments) + 1, -len(found))
