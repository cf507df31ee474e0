"""A case as values: what happened to a router or a network, what was due, and what was seen.

`quidnunc.properties.cases.file` is how it is written.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

from attrs import Attribute, evolve, field, frozen, validators

from quidnunc.impl.routers import EXTERNAL
from quidnunc.impl.seam import PROFILES
from quidnunc.model.events import Output
from quidnunc.model.parameters import Parameters, ParameterSet
from quidnunc.properties.networks.runs import BrokenClaim
from quidnunc.properties.notation.words import one_line

MODEL = "model"
"""What a case of a network is against."""

Status: TypeAlias = Literal["open", "fixed", "suite", "observed", "disputed"]
"""`open`: the router departs. `fixed`: it did, and must not again. `suite`: part of a fixed suite, and must
hold. `observed`: shows which reading of a silent text the router has. `disputed`: the kit may be wrong."""
STATUSES: tuple[str, ...] = get_args(Status)

Side: TypeAlias = Literal["both", "model", "router", "later", "may"]
"""Of an output: due or allowed, and seen; due and not seen; seen and not allowed; owed, and not due yet;
allowed, and not seen."""
Control: TypeAlias = Literal["passes", "departs", "not asked"]
"""What our own router does with the same events."""
CONTROLS: tuple[str, ...] = get_args(Control)
OWN_ROUTERS: tuple[str, ...] = tuple(name.partition(":")[0] for name in EXTERNAL)
"""How a case names a router of the user's own: by its kind, without the command that starts it."""


@frozen
class Misfit:
    """A choice of the router outside what the text leaves free; stands where no one output is wrong."""

    name: str
    reason: str


@frozen
class NodeOutput:
    """What a node of a network sent, or an application there got, as its line: `A>B: graft t`."""

    text: str


@frozen
class CaseOutput:
    """One output and its side. In a network a broken claim is the last one, of the side `router`."""

    side: Side
    what: Output | Misfit | NodeOutput | BrokenClaim


@frozen
class CaseBlock:
    """Events, or acts of a network, and what the last of them led to."""

    events: tuple[Any, ...]
    shown: tuple[CaseOutput, ...] = ()

    @property
    def departs(self) -> bool:
        return any(each.side in ("model", "router") for each in self.shown)

    @property
    def broken(self) -> str:
        """How a claim about a network is broken here; empty where it is not."""
        return next((each.what.why for each in self.shown if isinstance(each.what, BrokenClaim)), "")


def own_kind(router: str) -> str:
    """`exec` or `python`, for a router of the user's own; empty for one that this kit ships."""
    kind, colon, _ = router.partition(":")
    return kind if colon and kind in OWN_ROUTERS else ""


UNEXPLAINED = "No single edit of the specification predicts it."
"""The reason of a case whose root cause is not known."""
NOT_EXPLAINED = "Not explained: the time was up."
"""The same of a case for which no root cause was tried."""
TO_FILL_IN = {"exec": "exec:COMMAND", "python": "python:MODULE:FACTORY"}
"""Kind of a router of the user's own -> how it is named."""
_OWN = re.compile(rf"({'|'.join(OWN_ROUTERS)})(?![\w.+-])(.*)", re.IGNORECASE)
_VERSION = re.compile(r"[\w.+-]*\d[\w.+-]*")
"""One word with a digit: no command, however it is spelt."""


def _protocols(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def _lines(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(one_line, given))


def _names_no_command(case: object, attribute: Attribute[str], value: str) -> None:
    own = _OWN.fullmatch(value)
    if own and not (own[1] in OWN_ROUTERS and (not own[2] or _VERSION.fullmatch(own[2].removeprefix(" ")))):
        raise ValueError(
            f"expected a router that this kit ships, or {' or '.join(OWN_ROUTERS)} for one of your own, "
            f"got {value!r}; a case holds no command: give it by --against"
        )


_said = validators.and_(validators.instance_of(str), validators.min_len(1))


@frozen(kw_only=True)
class Case:
    """One counterexample or one case of a suite. White space of its texts is normalised."""

    reason: str = field(converter=one_line, validator=_said)
    """What must happen, or what goes wrong, in prose."""
    claim: str = field(converter=one_line, validator=_said)
    """Of a network: a statement, or a refuted line of `quidnunc prove`, by its id."""
    clause: str = field(converter=one_line, validator=_said)
    protocols: tuple[str, ...] = field(converter=_protocols, validator=validators.min_len(1))
    """It holds under each. They are of one family."""
    against: str = field(converter=one_line, validator=[_said, _names_no_command])
    """A router and its version (`py-libp2p 0.8.1`), a release that is replayed in its own environment
    (`py-libp2p@0.2.8`), a mutant (`ours:NAME`), `ours`, or `any`; `exec` or `python` for one of the user's
    own; `model` for a network."""
    status: Status = field(default="open", validator=validators.in_(STATUSES))
    quirk: str = field(default="", converter=one_line)
    """The root cause: the edit under which model and router agree (`quidnunc.model.edits.catalogue`)."""
    explanation: str = field(default="", converter=one_line)
    """What a reader of the router's source found, where the root cause that the search named is wrong."""
    as_built: tuple[str, ...] = ()
    """Other quirks of the router that are in force in this case, so that it gets as far as its own."""
    found_by: str = field(default="", converter=one_line)
    argument: str = field(default="", converter=one_line)
    """Why the text forbids it."""
    parameters: ParameterSet = Parameters()
    profile: str = field(default="", validator=validators.in_(("", *PROFILES)))
    """How the router was configured (`quidnunc.impl.seam.Profile`); empty where it adds nothing to the
    protocol. A case of before there were profiles is one of `spec`, or of `shipped` if it says `extras`."""
    without: tuple[str, ...] = ()
    """Of `shipped`: additions of the router that were switched off, because they had been found to depart."""
    seed: int = 0
    control: Control | None = None
    """None: the file does not say."""
    reproduced: tuple[int, int] | None = None
    """(k, n): the router departed as recorded in k of n replays."""
    notes: tuple[str, ...] = field(default=(), converter=_lines)
    """Remarks for a reader, one line each. A replay does not heed them."""
    nodes: tuple[int, ...] = ()
    """Of a network; there are none in a case of one router."""
    attackers: frozenset[int] = frozenset()
    links: tuple[tuple[int, int], ...] = ()
    before: tuple[Any, ...] = ()
    """Acts that lead to where the schedule of a network begins."""
    blocks: tuple[CaseBlock, ...] = field(default=(), validator=validators.min_len(1))
    path: str = field(default="<text>", eq=False)
    command: str = field(default="", eq=False)
    """What a file of format 1 names as its router, where that is a command. It is never written."""

    @property
    def as_told(self) -> Case:
        """The case for others: without a root cause that is known to be wrong."""
        if not self.explanation:
            return self
        said = self.explanation.removeprefix("it ")
        return evolve(self, reason=f"{said[0].upper()}{said[1:]}", quirk="")

    @property
    def protocol(self) -> str:
        """The first of its protocols."""
        return self.protocols[0]

    @property
    def signed(self) -> bool:
        return getattr(self.parameters, "signature_policy", "StrictSign") == "StrictSign"

    @property
    def is_network(self) -> bool:
        return bool(self.nodes)

    @property
    def acts(self) -> tuple[Any, ...]:
        """The schedule of a network."""
        return events_of(self)

    def under(self, protocol: str) -> Case:
        """The same case of one of its protocols."""
        return evolve(self, protocols=(protocol,))


def on_router(case: Case, router: str) -> Case:
    """The case as `router` is judged by it: of another one it is not known that it is built as the case's
    router is, and that router's additions are not its own."""
    name = (own_kind(router) or router).partition("@")[0]
    own = case.against.split()[0].partition("@")[0]
    return case if name == own else evolve(case, as_built=(), without=())


def events_of(case: Case) -> tuple[Any, ...]:
    """Events, or the acts of a network."""
    return tuple(event for block in case.blocks for event in block.events)


def parameters_of(case: Case) -> ParameterSet:
    return case.parameters


class RefusedRouterError(ValueError):
    """A case that names no router which may be started for it."""


def router_of(case: Case, *, allow_exec: bool = False) -> str:
    """The shipped router that a case is replayed against: `ours` for `any`, `model` for a network.

    A case is a file of strangers, and starts no command. With `allow_exec`, the user's own word, a file of
    format 1 may name one. Raises RefusedRouterError otherwise.
    """
    name = case.against.split()[0]
    if name in OWN_ROUTERS or (":" in name and not name.startswith("ours:")):
        if allow_exec and case.command:
            return case.command
        raise RefusedRouterError(
            f"{case.path}: no router is started that only a file names ({case.command or name}); "
            "name it yourself: --against ROUTER (of pytest: --quidnunc-against)"
        )
    return "ours" if name == "any" else name


def against_text(router: str, version: str) -> str:
    """The router of a case, as its file names it: one of the user's own by its kind alone, and the first word
    of its version that can be one. A release (`py-libp2p@0.2.8`) says its version itself."""
    if "@" in router and not own_kind(router):
        return router
    kind = own_kind(router)
    said = next(filter(_VERSION.fullmatch, version.split()), "") if kind else version
    return f"{kind or router} {said}".strip()


def profile_text(router: str, profile: str) -> str:
    """The profile of a case, as its file names it: our own routers add nothing, and have none."""
    return "" if router.partition(":")[0] == "ours" else profile


def command_of(protocol: str, against: str, *more: str, profile: str = "shipped") -> str:
    """The command that looks for what was found, as a shell reads it, without a command of the user's own."""
    switches = ("--profile", profile) if profile != "shipped" else ()
    return shlex.join(
        ("quidnunc", "check", protocol, "--against", own_kind(against) or against, *more, *switches)
    )


def replay_command(path: str, against: str) -> str:
    """The command that replays a case of that router, as a shell reads it. One of the user's own is named; of
    that a case says no more than the kind, so its name is for the reader to fill in."""
    given = against if own_kind(against) else TO_FILL_IN.get(against.partition(" ")[0], "")
    return shlex.join(("quidnunc", "replay", path, *(("--against", given) if given else ())))
