"""How a router was configured in a case, in its own names: what is not its default, and what matters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from attrs import evolve, fields, frozen

from quidnunc.impl.own_names import NONE, OWN_NAMES, OwnNames, own_default, own_setting
from quidnunc.model.events import Advance
from quidnunc.model.parameters import Parameters
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters
from quidnunc.properties.cases.case import Case, events_of
from quidnunc.properties.cases.deciding import names_in_play
from quidnunc.properties.cases.file import NOTE, render
from quidnunc.properties.cases.rejudged import are_judged_alike
from quidnunc.properties.notation.parameters import (
    NAMES,
    attribute_of,
    parameters_text,
    value_read,
    value_text,
)
from quidnunc.properties.notation.words import peers_text

NOT_GIVEN: Mapping[str, Mapping[str, str]] = {
    "py-libp2p": {"max_ihave_length": "`{}`: libp2p has no such limit; the specification wants one."},
}
"""Router -> parameters that the specification has and the router does not, and what to say of them. A case
needs a value, by which the specification is asked; it is no configuration of the router."""
DECIDES = re.compile(r"(\w+)=(\S+), the (?:kit's )?default, decides here: (.*)", re.DOTALL)
"""Of a note of a case: the parameter, its value, and what it is. Older cases have "the default"."""
_THRESHOLD = "_threshold"
_NEVER = -(1 << 30)
"""No score of a run is so low."""
_LOWERED: Mapping[str, tuple[str, ...]] = {
    "graylist_threshold": ("graylist_threshold",),
    "publish_threshold": ("graylist_threshold", "publish_threshold"),
    "gossip_threshold": ("graylist_threshold", "publish_threshold", "gossip_threshold"),
}
"""Threshold -> those below it, which have to be lowered with it, and itself."""
_NOBODY = peers_text([])


@frozen
class RouterConfiguration:
    """Each line is Markdown: settings are code."""

    matters: tuple[str, ...] = ()
    """What is not the default, and decides something: by the specification, or because the case needs it."""
    others: tuple[str, ...] = ()
    """What is not the default otherwise."""
    defaults: tuple[str, ...] = ()
    """Defaults that decide something."""

    @property
    def is_default(self) -> bool:
        return not self.matters and not self.others


def configuration_of(case: Case) -> RouterConfiguration | None:
    """None for a router or a release whose names and defaults nobody has looked up."""
    router, _, version = case.against.partition(" ")
    own = OWN_NAMES.get(router.partition("@")[0])
    if own is None or version != own.release or case.is_network:
        return None
    return _CaseSettings(router.partition("@")[0], own, case).configuration()


@frozen
class _CaseSettings:
    router: str
    own: OwnNames
    case: Case

    def configuration(self) -> RouterConfiguration:
        matters: list[str] = []
        others: list[str] = []
        for does, said in (*self._parameters(), *self._scores(), *self._of_driver()):
            (matters if does else others).append(said)
        return RouterConfiguration((*matters, *self._lacking()), tuple(others), tuple(self._deciding()))

    def _parameters(self) -> Iterator[tuple[bool, str]]:
        """Whether each matters, and what it is."""
        read = names_in_play(self.case)
        told = {*parameters_text(self.case.parameters).replace("=", " ").split()}
        for name, value in self._values():
            default = self.own.defaults.get(name)
            if name not in self.own.named or default is None or (value == default and default != NONE):
                continue
            if name.endswith(_THRESHOLD) and not self._has_scores or value == _NOBODY:
                continue
            is_told = NAMES.get(name, name) in told
            does = (
                is_told
                and (default == NONE or self.own.tells_only_what_is_needed)
                or (read is None or name in read)
                and (is_told or self._decides(name, default))
            )
            yield does, _line(own_setting(self.router, name, value), own_default(self.router, name))

    def _decides(self, name: str, default: str) -> bool:
        """Whether the specification would say something else of the sequence with the default."""
        if default == NONE or name.startswith("heartbeat") and self._passes < _heartbeats(self.case, name):
            return False
        if name in _LOWERED:
            *others, last = _LOWERED[name]
            below = {each: self._default_threshold(each) for each in others}
            lowered = below | {last: self._default_threshold(last)}
            return not are_judged_alike(self._with(below), self._with(lowered))
        try:
            changed = self._with({name: value_read(name, default, type(self.case.parameters))})
        except ValueError:
            # It is no value of the kit's, or the specification forbids it.
            return True
        return not are_judged_alike(self.case, changed)

    def _default_threshold(self, name: str) -> int:
        """None is below every score; the specification wants them in an order nevertheless."""
        default = self.own.defaults[name]
        has_one = default.removeprefix("-").isdigit()
        return int(default) if has_one else _NEVER + list(_LOWERED).index(name)

    def _with(self, changed: Mapping[str, object]) -> Case:
        parameters: Any = self.case.parameters
        return evolve(self.case, parameters=evolve(parameters, **changed))

    @property
    def _has_scores(self) -> bool:
        return self._given is not None or bool(re.search(r"^score ", self._text, re.MULTILINE))

    @property
    def _given(self) -> ScoreParameters | None:
        return getattr(self.case.parameters, "scores", None)

    @property
    def _passes(self) -> int:
        return sum(each.ms for each in events_of(self.case) if isinstance(each, Advance))

    @property
    def _text(self) -> str:
        text = re.sub(r"\n  (?=\S)", " ", render(self.case).partition("\n\n# ")[0])
        return text + "\n" + self._body

    @property
    def _body(self) -> str:
        lines = (line for line in render(self.case).splitlines() if not line.startswith(NOTE))
        return "\n".join(lines).partition("\n\n")[2]

    def _values(self) -> Iterator[tuple[str, str]]:
        for each in fields(type(self.case.parameters)):
            if each.name != "scores":
                yield each.name, value_text(self.case.parameters, each.name)

    def _scores(self) -> Iterator[tuple[bool, str]]:
        holder, weight, default = self.own.scores
        if not holder or self.case.protocol == "floodsub":
            return
        given = self._given
        if given is None:
            why = "" if self._has_scores else ": every score is 0 here"
            said = f"`{holder}` with `{weight}` (default: {default}), and no other weight{why}"
            yield self._has_scores, said
            return
        names = [*_terms(given, _OF_ROUTER), "decay_interval_ms", "decay_to_zero", "retain_score_ms"]
        names += ["topic_score_cap"] if given.topic_score_cap else []
        default = "no peer scores" if default == "no peer scores" else "no topic is scored"
        yield True, f"`{holder}` (default: {default}): {self._named(given, names)}; other weights are 0"
        for topic in given.topics:
            names = ["topic_weight", *_terms(topic, _OF_TOPIC)]
            yield True, f"for topic {topic.topic}: {self._named(topic, names)}; other weights are 0"

    def _named(self, given: ScoreParameters | TopicScoreParameters, names: list[str]) -> str:
        shown = (own_setting(self.router, f"scores.{name}", str(getattr(given, name))) for name in names)
        return ", ".join(f"`{each}`" for each in shown if each)

    def _of_driver(self) -> Iterator[tuple[bool, str]]:
        for each in self.own.driver:
            does = bool(re.search(each.where, self._text, re.MULTILINE | re.DOTALL))
            if does or each.always:
                yield does, f"{each.setting} (default: {each.default})"

    def _lacking(self) -> Iterator[str]:
        for name, said in NOT_GIVEN.get(self.router, {}).items():
            values = dict(self._values())
            if values[name] != value_text(Parameters(), name):
                yield said.format(f"{name}={values[name]}")

    def _deciding(self) -> Iterator[str]:
        for note in self.case.notes:
            if found := DECIDES.fullmatch(note):
                name = attribute_of(found[1])
                own = own_setting(self.router, name, found[2])
                if own and self.own.defaults.get(name) == found[2]:
                    yield f"`{own}`"


_OF_TOPIC = (
    "time_in_mesh",
    "first_message_deliveries",
    "mesh_message_deliveries",
    "mesh_failure_penalty",
    "invalid_message_deliveries",
)
_OF_ROUTER = ("app_specific", "ip_colocation_factor", "behaviour_penalty")
_THRESHOLDS_OF = {"mesh_failure_penalty": "mesh_message_deliveries"}
"""A term that counts by the threshold of another, which then is told too."""


def _terms(given: ScoreParameters | TopicScoreParameters, terms: tuple[str, ...]) -> Iterator[str]:
    """The parameters of the terms that have a weight."""
    names = [each.name for each in fields(type(given))]
    counting = [term for term in terms if getattr(given, f"{term}_weight")]
    counting += [_THRESHOLDS_OF[term] for term in counting if term in _THRESHOLDS_OF]
    for term in dict.fromkeys(counting):
        yield from (name for name in names if name.startswith(f"{term}_"))


def _heartbeats(case: Case, name: str) -> int:
    """How much time must pass before this time of heartbeats can matter."""
    parameters = cast("Parameters", case.parameters)
    first = parameters.heartbeat_delay_ms
    return first + (0 if name == "heartbeat_delay_ms" else parameters.heartbeat_interval_ms)


def _line(setting: str | None, default: str | None) -> str:
    if not default:
        return f"`{setting}` (no default)"
    return f"`{setting}` (default: {default if ' ' in default else f'`{default}`'})"
