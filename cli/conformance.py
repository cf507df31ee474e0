"""The test that `quidnunc.conforms` makes: one search of a router, and one test for each claim.

The search runs in the process of the test, so that a router may be any function. Processes of pytest-xdist
share it by a file. What it found is kept in Hypothesis's database, and is replayed before the next search.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from attrs import asdict, field, frozen, mutable

from quidnunc.impl.routers import open_factory, open_router
from quidnunc.impl.seam import PROFILES, AdapterError, Config, Driver, Profile
from quidnunc.model.errors import CaseError, SpecError
from quidnunc.model.machine import protocol_named
from quidnunc.output import count, suggestion, write_whole
from quidnunc.properties.bounded import shortened
from quidnunc.properties.cases.case import Case, replay_command
from quidnunc.properties.cases.file import body_of, parse, render
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.cases.telling import sentence_of
from quidnunc.properties.claims.catalogue import claims_of
from quidnunc.properties.judge.play import Subject, WireSubject
from quidnunc.properties.search.batch import BatchRequest
from quidnunc.properties.search.campaign import Campaign, merge
from quidnunc.properties.search.rows import RootCause, fewest_rows, is_crash
from quidnunc.properties.search.verdicts import SEVERITY, ClaimVerdict, verdict_of_root, verdicts_of

Router: TypeAlias = Callable[[Config], object] | str

ELSEWHERE = "clauses-without-a-claim"
"""The test of what departs from a clause that no claim rests on."""
EVENTS_SHOWN = 3
OUTPUTS_SHOWN = 2
LINE_CHARACTERS = 140


def claim_test(
    router: Router,
    *,
    protocol: str,
    known: Mapping[str, str],
    runs: int | None,
    seed: int,
    profile: Profile,
    strict: bool,
) -> Callable[..., None]:
    """See `quidnunc.conforms`."""
    claims = [claim.id for claim in claims_of(protocol_named(protocol))]
    for name in known:
        if name not in claims:
            raise ValueError(f"known: {protocol} has no claim {name!r}{suggestion(name, claims)}")
    if profile not in PROFILES:
        raise ValueError(f"profile: expected one of {', '.join(PROFILES)}, got {profile!r}")
    if runs is not None and runs < 1:
        raise ValueError(f"runs: expected 1 or more, got {runs}")
    search = _Search(router, protocol, runs, seed, profile)
    bad = {"fails", "broken"} | ({"deviates"} if strict else set())
    expected = {name: pytest.mark.xfail(reason=why, strict=True) for name, why in known.items()}
    asked = [pytest.param(name, marks=expected.get(name, ())) for name in (*claims, ELSEWHERE)]

    def test_conforms(claim: str, request: pytest.FixtureRequest, tmp_path_factory: Any) -> None:
        said = search.results(request.node, tmp_path_factory.getbasetemp()).get(claim)
        if said is None:
            assert claim == ELSEWHERE
            return
        request.node.user_properties.append(("quidnunc", f"{said.verdict}: {said.reason}"))
        if said.verdict in bad:
            pytest.fail(said.text, pytrace=False)
        if said.verdict in ("unsupported", "inconclusive", "undecided"):
            pytest.skip(f"{said.verdict}: {said.reason}")

    test: Callable[..., None] = pytest.mark.parametrize("claim", asked)(test_conforms)
    return test


@frozen
class _ClaimResult:
    """What a search says of one claim."""

    verdict: str
    reason: str
    text: str = ""
    """Of one that departs: what there is to read of it, at most ten lines."""


@mutable
class _Search:
    """The one search that all claims of a test share, made when the first of them is asked."""

    router: Router
    protocol: str
    runs: int | None
    seed: int
    profile: Profile
    _results: dict[str, _ClaimResult] = field(factory=dict)

    @property
    def name(self) -> str:
        """The router, as `quidnunc --against` takes it."""
        if isinstance(self.router, str):
            return self.router
        where = getattr(self.router, "__module__", "")
        return f"python:{where}:{getattr(self.router, '__qualname__', type(self.router).__name__)}"

    @property
    def has_name(self) -> bool:
        """Whether another process can open the router by its name."""
        return isinstance(self.router, str) or "<" not in self.name

    def open(self, config: Config) -> Subject:
        router = self.router
        driver: Driver = (
            open_router(router, config)
            if isinstance(router, str)
            else open_factory(router, config, self.name)
        )
        return WireSubject(driver, config)

    def results(self, item: Any, folder: Path) -> Mapping[str, _ClaimResult]:
        """By claim. `folder`: of this process in this test run; processes of pytest-xdist have one each,
        below one that they share."""
        if not self._results:
            name = "".join(c if c.isalnum() else "-" for c in item.nodeid.partition("[")[0])
            if hasattr(item.config, "workerinput"):
                self._results = self._shared(folder.parent / f"quidnunc-{name}.json", item, folder / name)
            else:
                self._results = self._searched(item, folder / name)
        return self._results

    def _shared(self, path: Path, item: Any, cases: Path) -> dict[str, _ClaimResult]:
        """What the process that came first has found; the others wait for it."""
        with path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            if text := file.read():
                return {claim: _ClaimResult(**said) for claim, said in json.loads(text).items()}
            found = self._searched(item, cases)
            json.dump({claim: asdict(said) for claim, said in found.items()}, file)
            return found

    def _searched(self, item: Any, cases: Path) -> dict[str, _ClaimResult]:
        """Search, and keep what was found."""
        from hypothesis import settings

        database = settings().database
        key = f"quidnunc {self.protocol} {self.name}".encode()
        given = item.config.getoption("hypothesis_seed", None)
        seed = int(given) if isinstance(given, str) and given.isdecimal() else self.seed
        campaign = Campaign(self.protocol, self.name, seed, profile=self.profile)
        try:
            kept = list(self._still(database, key)) if database is not None else []
            self._search(campaign, kept, self.runs or settings().max_examples)
        except (AdapterError, ValueError) as error:
            return self._all(f"the driver broke: {error}")
        if not campaign.steps:
            return self._all("nothing was played")
        if database is not None:
            for row in kept:
                database.save(key, json.dumps(row).encode())
        campaign.roots = fewest_rows(campaign.roots)
        claims = claims_of(protocol_named(self.protocol))
        worst_last = sorted(verdicts_of(campaign), key=lambda v: SEVERITY[v.verdict])
        return {v.claim.id if v.claim in claims else ELSEWHERE: self._said(v, cases) for v in worst_last}

    def _search(self, campaign: Campaign, kept: list[dict[str, Any]], runs: int) -> None:
        """Search into `campaign`, from what is kept; `kept` then has what was found as well."""
        from quidnunc.properties.search.worker import run

        explained = {row["quirk"] for row in kept if row["kind"] not in ("unexplained", "addition")}
        request = BatchRequest(
            protocol=self.protocol,
            against=self.name,
            seed=campaign.seed,
            runs=runs,
            quirks=tuple(sorted(explained)),
            profile=self.profile,
        )
        answer = run(asdict(request), opener=self.open)
        known = {(row["clause"], row["quirk"]) for row in kept}
        kept += [row for row in answer["roots"] if (row["clause"], row["quirk"]) not in known]
        merge(campaign, {**answer, "roots": kept})

    def _still(self, database: Any, key: bytes) -> Iterator[dict[str, Any]]:
        """The findings of earlier searches that the router still shows; the others are forgotten."""
        for value in sorted(database.fetch(key)):
            try:
                row = json.loads(value)
                if replay_router(parse(row["case"]), self.open).outcome == "same":
                    yield row
                    continue
            except (CaseError, SpecError, ValueError, KeyError, TypeError):
                # Of another version of this kit.
                pass
            database.delete(key, value)

    def _all(self, why: str) -> dict[str, _ClaimResult]:
        """Nothing can be said of any claim."""
        claims = [claim.id for claim in claims_of(protocol_named(self.protocol))]
        return {name: _ClaimResult("broken", why, why) for name in (*claims, ELSEWHERE)}

    def _said(self, verdict: ClaimVerdict, cases: Path) -> _ClaimResult:
        if not verdict.roots:
            return _ClaimResult(verdict.verdict, verdict.reason)
        roots = sorted(verdict.roots, key=lambda root: -SEVERITY[verdict_of_root(root)])
        paths = [_written(root, cases) for root in roots]
        path = str(paths[0])
        again = replay_command(path, self.name) if self.has_name else path
        text = "\n".join(_lines(verdict, roots, again))
        return _ClaimResult(verdict.verdict, verdict.reason, text)


def _written(root: RootCause, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    cause = "crash" if is_crash(root) else root.quirk.replace(":", ".")
    path = folder / f"{root.clause.replace('/', '.')}.{cause}.case"
    write_whole(path, render(root.case))
    return path


def _lines(verdict: ClaimVerdict, roots: Sequence[RootCause], again: str) -> Iterator[str]:
    """At most ten lines: what goes wrong, the sentence, the end of the case, and how to see more."""
    root = roots[0]
    # A case of a crash leaves out what failed.
    says = root.says if is_crash(root) else root.case.reason
    yield shortened(f"{verdict.claim.id} {verdict.verdict}: {says}", 2 * LINE_CHARACTERS)
    yield shortened(sentence_of(root.clause) or root.clause, 2 * LINE_CHARACTERS)
    if not is_crash(root):
        yield from _end_of(root.case)
    if len(roots) > 1:
        yield f"and {len(roots) - 1} more of this claim, beside the first one's file:"
    yield again


def _end_of(case: Case) -> Iterator[str]:
    """The last events of a case, and what departs."""
    lines = [line for block in body_of(case) for line in block]
    departs = [line for line in lines if line.startswith(("+ ", "- "))]
    events = [line for line in lines if not line.startswith(("+ ", "- ", "  ", "= ", "~ ", "----"))]
    left_out = len(events) - EVENTS_SHOWN
    if left_out > 0:
        yield f"    ({count(left_out, 'event')} before)"
    yield from (f"    {shortened(line, LINE_CHARACTERS)}" for line in events[-EVENTS_SHOWN:])
    said = {"+": "happened, and nothing allows it", "-": "was due, and did not happen"}
    for line in departs[:OUTPUTS_SHOWN]:
        yield f"  {shortened(line, LINE_CHARACTERS)}    ({said[line[0]]})"
