"""Declared changes: the expectations file of `quidnunc regress`, and whether what was found is in it.

The format is that of `quidnunc check --expect`, an `[[expect]]` with clause, cause, verdict and reason, and
with the trace that shows the change instead of the path of a case. The cause is the key of the change
(`graft/while_backing_off`), the verdict its direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import field, fields, frozen

from quidnunc.model.errors import CaseError, did_you_mean
from quidnunc.model.events import Event
from quidnunc.properties.bounded import read_toml
from quidnunc.properties.cases.case import Case, CaseBlock, CaseOutput, Misfit, events_of, parameters_of
from quidnunc.properties.cases.case import Side as Saying
from quidnunc.properties.cases.file import body_of, parse
from quidnunc.properties.cases.names import places_of_entries
from quidnunc.properties.notation.parameters import parameters_text
from quidnunc.properties.regress.diff import ProtocolChange, change_named, changes_between
from quidnunc.properties.regress.pair import DIRECTIONS, Parting, SeparationWatch, partings_of
from quidnunc.properties.regress.search import DICE, UNDESCRIBED, BehaviourChange, is_undescribed, pairs
from quidnunc.properties.regress.sides import Side, levelled_sides
from quidnunc.properties.suite.traces import Trace

MAX_BYTES = 1 << 20
MAX_ENTRIES = 1000
CHANGE = "The change: "
"""How the reason begins that is written where no rule says more."""
VERDICTS = (*DIRECTIONS, UNDESCRIBED)
HEADER = """\
# What changes from {old} to {new}. `quidnunc regress {old} {new} --expect THIS` fails on a change in
# behaviour that is not declared here, and on a declared one that did not happen.
# In a trace `-` is what {old} alone allows or demands, and `+` what {new} alone does.
"""


@frozen(kw_only=True)
class DeclaredChange:
    """One change in behaviour that is meant."""

    clause: str = ""
    """May be left out, and then it is not asked."""
    cause: str
    verdict: str
    reason: str
    link: str = ""
    change: str = ""
    """Of a parameter: from which value to which. May be left out, and then it is not asked."""
    parameters: str = ""
    trace: str = field(default="")
    """Events and outputs as in a case; may be left out, and then the search has to meet the change."""

    @property
    def key(self) -> tuple[str, str]:
        return self.cause, self.verdict


def load_declared(path: Path) -> tuple[DeclaredChange, ...]:
    """Read a file. Raises CaseError, naming the file, the entry and what was expected."""
    try:
        table = read_toml(path, MAX_BYTES)
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror or error}; `--update-expect` writes one") from None
    except ValueError as error:
        raise CaseError(f"{path}: not TOML: {error}; `--update-expect` writes one") from None
    entries = table.get("expect", [])
    if not isinstance(entries, list) or len(entries) > MAX_ENTRIES or set(table) - {"expect"}:
        raise CaseError(f"{path}: expected at most {MAX_ENTRIES} [[expect]] tables and nothing else")
    names = {a.name for a in fields(DeclaredChange)}
    place = places_of_entries(path, len(entries))
    found: dict[tuple[str, str], DeclaredChange] = {}
    for at, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise CaseError(f"{place(at, '')}: expected a table, got {entry!r}")
        unknown, missing = set(entry) - names, {"cause", "verdict", "reason"} - set(entry)
        for name in sorted(unknown):
            raise CaseError(f"{place(at, name)}: no field {name!r}{did_you_mean(name, sorted(names))}")
        if missing:
            raise CaseError(f"{place(at, '')}: expected {', '.join(sorted(missing))}, too")
        each = DeclaredChange(**{k: str(v) for k, v in entry.items()})
        if each.verdict not in VERDICTS:
            known = did_you_mean(each.verdict, VERDICTS)
            raise CaseError(f"{place(at, 'verdict')}: no verdict {each.verdict!r}{known}")
        if each.key in found:
            raise CaseError(f"{place(at, 'cause')}: {each.cause} {each.verdict} is declared twice")
        found[each.key] = each
    return tuple(found.values())


def trace_of(declared: DeclaredChange, side: Side, path: str) -> Trace | None:
    """Parameters and events of a declared trace; None where it has none. Raises CaseError."""
    if not declared.trace:
        return None
    front = {
        "format": "1",
        "claim": declared.cause,
        "clause": declared.clause.partition(",")[0] or "none",
        "protocol": side.base,
        "against": "any",
        "status": "suite",
        **({"parameters": declared.parameters} if declared.parameters else {}),
    }
    lines = "\n".join(f"{name}: {value}" for name, value in front.items())
    # What they part on is for readers: it may be what no router can send (to itself, say).
    events = "\n".join(line for line in declared.trace.splitlines() if not line.startswith(("- ", "+ ")))
    try:
        case = parse(f"{declared.cause}.\n\n{lines}\n\n{events.strip()}\n", path=path)
    except CaseError as error:
        raise CaseError(f"{path}: the trace of {declared.cause} {declared.verdict}: {error}") from None
    return parameters_of(case), events_of(case)


def shown_by(declared: DeclaredChange, old: Side, new: Side, path: str = "") -> Iterator[BehaviourChange]:
    """What the declared trace shows of the declared change, in each way to go on by what both allow.

    Raises CaseError where the trace cannot be read.
    """
    change = change_named(declared.cause, changes_between(old, new))
    trace = trace_of(declared, new, path)
    if change is None or trace is None:
        return
    old, new = levelled_sides(old, new)
    direction = declared.verdict
    if direction == UNDESCRIBED:
        if not is_undescribed(change, old, new):
            return
        direction = "newly-forbidden"
    for at, pair in enumerate(pairs(change, old, new)):
        try:
            for die in DICE:
                found = partings_of(change, *pair, trace, die)
                yield from (
                    BehaviourChange(change, d, f, pair, at > 0) for d, f in found.items() if d == direction
                )
        except KeyError:
            if not at:
                raise
            # Alone the change asks for a handler that only another one brings.


@frozen
class DeclarationMismatch:
    """A declared change that happens in another way than the entry says."""

    declared: DeclaredChange
    says: str
    """What is declared, and what is there instead."""
    instead: DeclaredChange | None = None
    """The entry as it would be now; None where its trace shows nothing any more."""

    def __str__(self) -> str:
        return f"{self.declared.cause} {self.declared.verdict}: {self.says}"


@frozen
class DeclarationComparison:
    """What was found against what is declared."""

    met: tuple[DeclaredChange, ...]
    gone: tuple[DeclaredChange, ...]
    """Declared, and it did not happen."""
    undeclared: tuple[BehaviourChange, ...]
    otherwise: tuple[DeclarationMismatch, ...] = ()
    unknown: tuple[DeclaredChange, ...] = ()
    """Declared of a change that was not compared."""

    @property
    def agrees(self) -> bool:
        return not self.gone and not self.undeclared and not self.otherwise


def compare(
    found: Sequence[BehaviourChange],
    declared: Sequence[DeclaredChange],
    old: Side,
    new: Side,
    path: str = "",
    not_compared: Sequence[str] = (),
) -> DeclarationComparison:
    """Each entry that has a trace is held to what its trace shows, whether the search met the change or not;
    one without has to be met by the search. Of the changes `not_compared` none is gone."""
    by_key: dict[tuple[str, str], BehaviourChange] = {s.key: s for s in found}
    met: list[DeclaredChange] = []
    gone: list[DeclaredChange] = []
    otherwise: list[DeclarationMismatch] = []
    unknown: list[DeclaredChange] = []
    for each in declared:
        shown = _nearest(each, old, new, path)
        if shown is None and each.key not in by_key:
            (unknown if each.cause in not_compared and not each.trace else gone).append(each)
        elif shown is None and each.trace:
            otherwise.append(DeclarationMismatch(each, "its trace shows nothing of it any more"))
        elif says := _differs(each, shown or by_key[each.key]):
            otherwise.append(DeclarationMismatch(each, says, declared_of(shown or by_key[each.key], each)))
        else:
            met.append(each)
    known = {d.key for d in declared}
    undeclared = tuple(s for s in found if s.key not in known)
    return DeclarationComparison(tuple(met), tuple(gone), undeclared, tuple(otherwise), tuple(unknown))


def _nearest(declared: DeclaredChange, old: Side, new: Side, path: str) -> BehaviourChange | None:
    """What the trace shows as it is written there, or else what it shows first."""
    first: BehaviourChange | None = None
    for each in shown_by(declared, old, new, path):
        if not _differs(declared, each):
            return each
        first = first or each
    return first


def _differs(declared: DeclaredChange, shown: BehaviourChange) -> str:
    """Where an entry says something else than what is shown; empty where it does not."""
    clause, change = shown.clause, values_of(shown.change)
    if declared.clause not in ("", clause):
        return f"the clause is {declared.clause!r} there, and it is {clause!r}"
    was = declared.change
    if not was and shown.change.kind == "parameter" and declared.reason.startswith(CHANGE):
        # Files of before there was a field for it have the values in the reason that was written for them.
        was = declared.reason.removeprefix(CHANGE).removesuffix(".")
    if was not in ("", change):
        return f"the change is {was!r} there, and it is {change!r}"
    if not declared.trace:
        return ""
    wanted, given = _parted(declared.trace), _parted(trace_text(shown))
    # A trace that was written by hand may end before what the two part on.
    if wanted in ([], given):
        return ""
    return f"the trace ends with {' / '.join(wanted)} there, and with {' / '.join(given)} when it is played"


def _parted(trace: str) -> list[str]:
    """The lines of a trace on which the two part."""
    return [" ".join(line.split()) for line in trace.splitlines() if line.startswith(("- ", "+ "))]


def values_of(change: ProtocolChange) -> str:
    """What a change makes of parameters; empty where it is of none."""
    return "; ".join(each.says for each in change.members or (change,) if each.kind == "parameter")


# -- writing ------------------------------------------------------------------------------------------------


def declared_of(found: BehaviourChange, old: DeclaredChange | None = None) -> DeclaredChange:
    """The entry of a change that was found; reason and link of an entry that is there are kept."""
    change, parameters = found.change, found.found.trace[0]
    return DeclaredChange(
        clause=found.clause,
        cause=change.key,
        verdict=found.verdict,
        reason=old.reason if old is not None else reason_of(change),
        link=old.link if old is not None else "",
        change=values_of(change),
        parameters=parameters_text(parameters),
        trace=trace_text(found),
    )


def reason_of(change: ProtocolChange) -> str:
    """What the rule says of itself, for a person to write better."""
    rule = change.new or change.old
    if rule is None or not rule.doc:
        return f"{CHANGE}{change.says}."
    said = " ".join(rule.doc.split("\n\n")[0].split())
    return said if change.new is not None else f"No more: {said}"


def render(old: Side, new: Side, entries: Sequence[DeclaredChange]) -> str:
    """The file."""
    lines = [HEADER.format(old=old.name, new=new.name)]
    for entry in entries:
        lines.append("[[expect]]")
        for name in ("clause", "cause", "verdict", "change", "reason", "link", "parameters"):
            if getattr(entry, name):
                lines.append(f"{name} = {_quoted(getattr(entry, name))}")
        if entry.trace:
            lines.append(f"trace = '''\n{entry.trace.rstrip()}\n'''")
        lines.append("")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") + '"'


def trace_case(found: BehaviourChange) -> Case:
    """The trace as a case: at its end, what OLD alone allows or demands is missing, and what NEW alone does
    is too much."""
    return Case(
        reason="A trace.",
        claim="trace",
        clause="trace",
        protocols=found.between[1].base,
        against="any",
        status="open",
        parameters=found.found.trace[0],
        blocks=tuple(_blocks(found)),
    )


def trace_text(found: BehaviourChange) -> str:
    """The trace as the body of a case."""
    return "\n\n".join("\n".join(lines) for lines in body_of(trace_case(found)))


def _blocks(found: BehaviourChange) -> Iterator[CaseBlock]:
    parameters, events = found.found.trace
    watch = SeparationWatch(found.change, *found.between, parameters, found.found.die)
    silent: list[Event] = []
    for event in events:
        before = len(watch.pair.moments)
        reached = watch.do(event)
        silent.append(event)
        if found.direction in reached:
            yield CaseBlock(tuple(silent), (shown_of(reached[found.direction].parting),))
            return
        said = [o for m in watch.pair.moments[before:] for o in m.outputs]
        if said:
            yield CaseBlock(tuple(silent), tuple(CaseOutput("both", o) for o in said))
            silent = []


def shown_of(parting: Parting) -> CaseOutput:
    """On what the two part: `-` where OLD alone allows or demands it, `+` where NEW alone does."""
    departure = parting.departure
    output = departure.observed or departure.expected
    if output is None:
        return CaseOutput("model", Misfit(*departure.reason.split(": ", 1)))
    of_old = parting.by_old if departure.observed is not None else not parting.by_old
    side: Saying = "model" if of_old else "router"
    return CaseOutput(side, output)


def known_by_change(
    declared: Sequence[DeclaredChange], side: Side, path: str
) -> Mapping[str, Sequence[Trace]]:
    """Key of a change -> the traces that are declared for it."""
    found: dict[str, list[Trace]] = {}
    for each in declared:
        trace = trace_of(each, side, path)
        if trace is not None:
            found.setdefault(each.cause, []).append(trace)
    return found
