"""The rows of the fixed suite: root causes, each with the case that tells it best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from attrs import evolve, field, mutable

from quidnunc.impl.seam import AdapterError
from quidnunc.model.edit import edited
from quidnunc.model.edits.catalogue import edit_named
from quidnunc.model.machine import protocol_named
from quidnunc.properties.cases.case import NOT_EXPLAINED, Case, against_text, command_of
from quidnunc.properties.cases.finding import from_finding
from quidnunc.properties.cases.telling import act_in_words, in_words
from quidnunc.properties.claims.catalogue import claim_on
from quidnunc.properties.explain.root_cause import (
    CRASH,
    UNEXPLAINED_CAUSE,
    Finding,
    accounts_for,
    allowed_in_words,
    last_departures,
    readings_that_allow,
)
from quidnunc.properties.explain.runs import blamed_clauses
from quidnunc.properties.judge.play import Moment, clauses_at_work, clauses_left_open, play, rejudge
from quidnunc.properties.search.additions import PREFIX, says_of
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.machine import FindingSearch
from quidnunc.properties.search.rows import (
    PENDING,
    RootCause,
    is_crash,
    keep,
    telling,
    without_withdrawn,
)
from quidnunc.properties.search.worker import passes_on_ours
from quidnunc.properties.suite.explainers import Question
from quidnunc.properties.suite.explanations import DepartingCase, SuiteExplanations, SuiteFinding


@mutable
class SuiteRows:
    """Files what the cases show."""

    campaign: Campaign
    hunt: FindingSearch
    explanations: SuiteExplanations | None = None
    """What explains the cases that stay once what comes from additions is filed."""
    open_cases: dict[str, DepartingCase] = field(factory=dict)
    """By name: the cases that depart and of which nothing was said yet."""
    filed: dict[str, list[SuiteFinding]] = field(factory=dict)
    """By the name of a case: all that was filed of it."""
    _dropped: dict[str, tuple[SuiteFinding, DepartingCase]] = field(factory=dict)
    """By the name of a case: what was told of it by an explanation that was withdrawn."""
    _told: dict[tuple[str, str], tuple[SuiteFinding, DepartingCase]] = field(factory=dict)
    """What is behind the case of each row."""
    _of_additions: dict[tuple[str, str], list[tuple[SuiteFinding, DepartingCase]]] = field(factory=dict)
    """All cases of each row of an addition."""

    def add(self, told: SuiteFinding, of: DepartingCase) -> None:
        """File what one case shows."""
        self.look_into(of)
        campaign, finding = self.campaign, told.finding
        standing = [each for each in self.filed.get(of.name, ()) if each.stands(self.hunt.withdrawn)]
        self.filed[of.name] = [*standing, told]
        self._forget_withdrawn()
        root, words = self._row(told, of)
        if told.addition:
            self._of_additions.setdefault((root.clause, root.quirk), []).append((told, of))
        known = campaign.roots.get((root.clause, root.quirk))
        if known is not None:
            also = _also_of_both(known, root, told, of)
            known, root = evolve(known, also=also), evolve(root, also=also)
            campaign.roots[root.clause, root.quirk] = known
        # What is more telling does not depend on notes.
        if known is None or telling(root) < telling(known):
            control = passes_on_ours(finding, campaign.protocol, of.parameters, of.case.seed)
            act = act_in_words(root.case, finding)
            root = evolve(root, case=words(), act=act, holds_on_ours=control)
            self._told[root.clause, root.quirk] = told, of
        keep(campaign.roots, root)

    def look_into(self, each: DepartingCase) -> None:
        """Note that a case was explained, or accounted for, as far as is known now."""
        self.open_cases.pop(each.name, None)
        self._dropped.pop(each.name, None)

    def note_alike(self, finding: Finding, of: DepartingCase) -> None:
        """Note a case that departs as an unexplained row does and that was not looked into: another fault may
        be behind it."""
        known = self.campaign.roots.get((finding.clause, finding.cause))
        if known is not None and known.kind == "unexplained":
            key = (known.clause, known.quirk)
            self.campaign.roots[key] = evolve(known, seen_in=known.seen_in | {of.name})

    def leave_unexplained(self, each: DepartingCase) -> None:
        """File what a case shows that nobody came to explain."""
        departure = last_departures(each.run)[0]
        finding = Finding(each.events, tuple(each.run.moments), departure, ())
        # Until additions are told apart, a case is as it was played first, with all of them.
        bare = SuiteFinding(finding, without=self.hunt.without if self.explanations else ())
        root, words = self._row(bare, each)
        if is_crash(root):
            keep(self.campaign.roots, evolve(root, case=words()))
            return
        self._leave_open(each.name, bare.finding.moments)
        cause = _pending(root.quirk)
        keep(self.campaign.pending, evolve(root, quirk=cause, kind="pending", case=words(), minimised=False))

    def leave_for_lack_of_time(self, asked: Question, of: DepartingCase, without: tuple[str, ...]) -> None:
        """File what is asked of a case, played without these additions, and was not answered in time.

        What may be a reading of an open sentence is undecided, and so is what may depart only because of what
        is in force. Everything else breaks its sentence, whatever explains it. Of those that depart alike the
        first has the row, without notes, which take long.
        """
        self.look_into(of)
        self._leave_open(of.name, asked.moments)
        hunt, spec = self.hunt, self.hunt.spec
        hunt.quirks[:] = [edit_named(name, spec) for name in asked.in_force]
        blamed = blamed_clauses(asked.moments, hunt.protocol, asked.parameters)
        finding = Finding(asked.events, asked.moments, asked.departure, (), blamed)
        key, rows, kind = (finding.clause, finding.cause), self.campaign.roots, "unexplained"
        if key not in rows and not finding.cause.startswith(CRASH) and not self._is_sure(finding, asked, of):
            key, rows, kind = (key[0], _pending(key[1])), self.campaign.pending, "pending"
        hunt.quirks[:] = []
        if (known := rows.get(key)) is not None:
            both = known.leaves_open | {*clauses_left_open(asked.moments[-1].judged)}
            rows[key] = evolve(known, leaves_open=both)
            return
        root, _ = self._row(SuiteFinding(finding, asked.in_force, without=without), of, NOT_EXPLAINED)
        root = evolve(root, quirk=key[1], kind=kind, says=f"{root.says} {NOT_EXPLAINED}", minimised=False)
        if kind == "unexplained":
            control = passes_on_ours(finding, spec.name, of.parameters, of.case.seed)
            root = evolve(root, holds_on_ours=control)
        rows[key] = root

    def _leave_open(self, name: str, moments: Sequence[Moment]) -> None:
        """Note a case that was not explained: no claim that takes part in it passes."""
        self.campaign.not_explained += [name] if name not in self.campaign.not_explained else []
        self.campaign.at_stake |= clauses_at_work(moments)

    def _is_sure(self, finding: Finding, asked: Question, of: DepartingCase) -> bool:
        """Whether what departs breaks its sentence whatever explains it. Without time to ask, it is not."""
        known = asked.departure in last_departures(of.run) and not self.hunt.out_of_time()
        return known and not self.hunt.readings_of(finding, asked.parameters)

    def _forget_withdrawn(self) -> None:
        """Drop the rows of explanations that are withdrawn: their cases are explained anew."""
        for key, root in list(self.campaign.roots.items()):
            if {root.quirk, *root.case.as_built} & {*self.hunt.withdrawn}:
                del self.campaign.roots[key]
                if (shown := self._told.pop(key, None)) is not None:
                    self._dropped[shown[1].name] = shown

    def drop_false_ones(self) -> None:
        """Drop what nothing explains and only the explanation of something else forbids: in its shortest run
        the router does what the specification allows."""
        self._forget_withdrawn()
        for explained, departing in list(self._dropped.values()):
            # It was not asked again: it departs all the same.
            in_force = tuple(name for name in explained.in_force if name not in self.hunt.withdrawn)
            bare = evolve(explained.finding, quirks=(), ties=())
            self.add(evolve(explained, finding=bare, in_force=in_force), departing)
        for key, root in list(self.campaign.roots.items()):
            told, of = self._told.get(key, (None, None))
            if root.kind == "unexplained" and told is not None and of is not None and told.in_force:
                if self._is_excused_wrongly(told, of):
                    del self.campaign.roots[key]
                    self._told.pop(key)
                elif self.hunt.out_of_time():
                    # The run may not be as short as it gets.
                    del self.campaign.roots[key]
                    late = evolve(root, quirk=_pending(root.quirk), kind="pending", minimised=False)
                    keep(self.campaign.pending, late)
        self._drop_of_additions()
        withdrawn = self.hunt.withdrawn
        roots = without_withdrawn(self.campaign.roots, withdrawn, self.hunt.contradicted)
        for key, root in roots.items():
            roots[key] = evolve(root, also=tuple(name for name in root.also if name not in withdrawn))
        self.campaign.roots = roots

    def note_readings(self) -> None:
        """Of what nothing explains: the readings by each of which the case is in order."""
        for key, root in list(self.campaign.roots.items()):
            told, of = self._told.get(key, (None, None))
            if root.kind != "unexplained" or told is None or of is None or is_crash(root):
                continue
            allowed_by = readings_that_allow(
                told.finding.moments, self.hunt.spec, told.in_force, of.parameters
            )
            if allowed_by:
                found = evolve(root, allowed_by=allowed_by)
                remark = self._allowed_in_words(found)
                _, words = self._row(told, of, remark)
                says = f"{root.says} {remark}"
                self.campaign.roots[key] = evolve(found, says=says, case=words())

    def _drop_of_additions(self) -> None:
        """Drop what a fault that is told does where the router does what the texts leave open: an addition
        is behind it only in so far as it is how the router reads them."""
        roots, spec = self.campaign.roots, self.hunt.spec
        named = [(root.quirk, root.kind) for root in roots.values()]
        read = edited(spec, [edit_named(name, spec) for name, kind in named if kind == "reading"])
        faults = [
            edit_named(name, spec) for name, kind in named if kind in ("variant", "replaced", "dropped")
        ]

        def is_of_a_fault(told: SuiteFinding, of: DepartingCase) -> bool:
            run, given = told.finding.moments, of.parameters
            may_be = (fault for fault in faults if accounts_for(fault, run, read, given))
            return any(not accounts_for(fault, run, spec, given) for fault in may_be)

        for key in list(self._of_additions):
            # Those that stay are added again.
            shown = self._of_additions.pop(key)
            left = [each for each in shown if not is_of_a_fault(*each)]
            if len(left) < len(shown) and roots.pop(key, None) is not None:
                self._told.pop(key, None)
                for told, of in left:
                    self.add(told, of)

    def _is_excused_wrongly(self, told: SuiteFinding, of: DepartingCase) -> bool:
        try:
            with self._judged_as(told):
                departures = told.finding.moments[-1].judged.departures
                found = self.hunt.minimised(told.finding.events, departures, of.parameters, of.case.seed)
                return found is not None and self.hunt.was_excused_wrongly(*found, of.case.seed)
        except AdapterError:
            return False

    @contextmanager
    def _judged_as(self, told: SuiteFinding) -> Iterator[None]:
        """Play and judge as it was when this was found."""
        hunt = self.hunt
        off, hunt.without = hunt.without, told.without
        hunt.quirks[:] = [edit_named(name, hunt.spec) for name in told.in_force]
        try:
            yield
        finally:
            hunt.without, hunt.quirks[:] = off, []

    def shorten(self) -> Iterator[None]:
        """Make the case of each row as short as it gets while the row stays what it is."""
        for key, root in list(self.campaign.roots.items()):
            told, of = self._told.get(key, (None, None))
            if told is None or of is None or is_crash(root):
                continue
            if self.hunt.out_of_time():
                return
            shipped, of = self._shorter(told, of) or (told, of)
            shipped = self._as_shipped(shipped, of)
            if shipped is not told:
                told = shipped
                remark = self._allowed_in_words(root)
                row, words = self._row(told, of, remark)
                # A row of several findings has a sentence of its own.
                own = f"{row.says} {remark}".strip()
                case = words() if own == root.says else evolve(words(), reason=root.case.reason)
                control = passes_on_ours(told.finding, self.campaign.protocol, of.parameters, of.case.seed)
                act = act_in_words(row.case, told.finding)
                self.campaign.roots[key] = evolve(root, case=case, act=act, holds_on_ours=control)
            yield

    def _allowed_in_words(self, root: RootCause) -> str:
        return allowed_in_words(root.allowed_by[0], self.hunt.spec) if root.allowed_by else ""

    def _as_shipped(self, told: SuiteFinding, of: DepartingCase) -> SuiteFinding:
        """The same with nothing switched off, where the router does the same then."""
        shipped, finding, hunt = evolve(told, without=()), told.finding, self.hunt
        if shipped == told:
            return told
        try:
            with self._judged_as(shipped):
                config = hunt.config(of.parameters, of.case.seed)
                run = play(finding.events, hunt.opener(config), hunt.protocol, of.parameters)
        except AdapterError:
            return told
        return shipped if tuple(run.moments) == finding.moments else told

    def _row(
        self, told: SuiteFinding, of: DepartingCase, remark: str = ""
    ) -> tuple[RootCause, Callable[..., Case]]:
        """The row of one case, and what tells the case in words, with a `remark` after its headline."""
        finding = told.finding
        quirk, plain = finding.quirks[0] if finding.quirks else None, evolve(finding, quirks=())
        kind: str = quirk.kind if quirk else "unexplained"
        cause = finding.cause
        says = quirk.says if quirk else f"Departs in the suite's case {of.name}. {finding.known}".strip()
        if told.addition:
            kind, cause = "addition", PREFIX + told.addition
            says = says_of(told.addition, self.hunt.hello)
        said = says if kind != "unexplained" else ""
        remark = f"{remark} {finding.known}".strip()
        words = partial(in_words, self._case(told, of, says), finding, said, remark)
        row = RootCause(
            finding.clause,
            cause,
            kind,
            says,
            words(with_notes=False),
            also=tuple(q.name for q in finding.quirks[1:]),
            unexplained_as=(plain.clause, plain.cause),
            suspects=finding.suspects if kind == "unexplained" else frozenset(),
            leaves_open=frozenset(clauses_left_open(finding.moments[-1].judged)),
            seen_in=frozenset({of.name}),
        )
        return row, words

    def _case(self, told: SuiteFinding, of: DepartingCase, says: str) -> Case:
        campaign, clause = self.campaign, told.finding.clause
        claim = claim_on(clause, protocol_named(campaign.protocol))
        return from_finding(
            told.finding,
            reason=says,
            claim=claim.id if claim else clause,
            protocol=campaign.protocol,
            against=against_text(campaign.against, campaign.version),
            parameters=of.parameters,
            seed=of.case.seed,
            found_by=command_of(campaign.protocol, campaign.against, "--suite", profile=campaign.profile),
            profile=of.case.profile,
            without=told.without,
            quirks_in_force=told.in_force,
        )

    def _shorter(self, told: SuiteFinding, of: DepartingCase) -> tuple[SuiteFinding, DepartingCase] | None:
        """The same finding in the shortest run; None where it would not be the same."""
        try:
            with self._judged_as(told):
                return self._shortest(told, of)
        except AdapterError:
            return None

    def _shortest(self, told: SuiteFinding, of: DepartingCase) -> tuple[SuiteFinding, DepartingCase] | None:
        hunt, whole, seed = self.hunt, told.finding, of.case.seed
        departures = whole.moments[-1].judged.departures
        found = hunt.minimised(whole.events, departures, of.parameters, seed)
        if found is None:
            return None
        bare, parameters = found
        if told.in_force and rejudge(bare.moments, hunt.spec, parameters)[0] == len(bare.moments):
            # It would show nothing that the specification forbids.
            return None
        told_as = blamed_clauses(bare.moments, hunt.protocol, parameters)
        short = evolve(
            whole, events=bare.events, moments=bare.moments, departure=bare.departure, blamed=told_as
        )
        accounted = all(
            accounts_for(quirk, bare.moments, hunt.protocol, parameters) for quirk in whole.quirks[:1]
        )
        if told.addition:
            config = evolve(hunt.config(parameters, seed), without=(*told.without, told.addition))
            run = play(bare.events, hunt.opener(config), hunt.protocol, parameters)
            accounted = not run.blurred and not last_departures(run)
        if not accounted or short.clause != whole.clause:
            return None
        return evolve(told, finding=short), evolve(of, parameters=parameters)


def _pending(cause: str) -> str:
    """The cause of what nobody came to explain."""
    return PENDING + cause.removeprefix(UNEXPLAINED_CAUSE)


def _also_of_both(
    known: RootCause, root: RootCause, told: SuiteFinding, of: DepartingCase
) -> tuple[str, ...]:
    """The other explanations of a row that account for one more case: a case that a known explanation
    accounts for was asked for no other."""
    protocol = protocol_named(of.case.protocol)
    in_force = edited(protocol, [edit_named(name, protocol) for name in told.in_force])

    def accounts(name: str) -> bool:
        return name in root.also or accounts_for(
            edit_named(name, protocol), told.finding.moments, in_force, of.parameters
        )

    return tuple(filter(accounts, known.also))
