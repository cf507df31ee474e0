"""Scenarios as files: YAML, or JSON as gossipsub-interop's params.json is, which is a scenario as it stands.

Whatever a file has that a scenario has not is refused, with the place of it and what there is instead.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from attrs import evolve, fields_dict, has

from quidnunc.model.parameters import Parameters
from quidnunc.pipeline.simulation.scenario.script import (
    BY_TYPE,
    InitGossipSubInstruction,
    Instruction,
    nodes_named,
    parameters_of_go,
    steps_of,
)
from quidnunc.pipeline.simulation.scenario.values import MAX_NODES, NodeGroup, Scenario, ScenarioError
from quidnunc.properties.bounded import demand_plain, demand_shallow, read_bounded
from quidnunc.properties.cases.case import own_kind

MAX_FILE_BYTES = 16 << 20
MAX_YAML_BYTES = 1 << 20
"""PyYAML reads some hundred kilobytes a second; what is larger is a script, and those are JSON."""
MAX_PROBLEMS = 8
T = TypeVar("T")


def load_scenario(
    path: Path, changes: Mapping[str, Any] | None = None, *, allow_exec: bool = False
) -> Scenario:
    """The scenario of a file, with `changes` (`links.jitter_ms` -> value) made to it.

    Paths in it are relative to the file. It may be a stranger's: unless `allow_exec`, its routers are those
    that this kit ships, and those of `changes`. Raises ScenarioError that names the file, the field, and what
    the next step is.
    """
    raw = read_mapping(path)
    if not allow_exec:
        demand_shipped_nodes(raw, path)
    for where, value in (changes or {}).items():
        change(raw, where, value)
    return scenario_of(raw, path)


def demand_shipped_nodes(raw: Mapping[str, Any], path: Path) -> None:
    """Raises ScenarioError where a file would start a command, or import a module, as a node's router."""
    groups = raw.get("nodes")
    for number, group in enumerate(groups if isinstance(groups, list) else ()):
        demand_shipped(group.get("router") if isinstance(group, dict) else "", path, f"nodes.{number}.router")


def demand_shipped(router: object, path: Path, where: str) -> None:
    """Raises ScenarioError for a router of the user's own: a file may be a stranger's."""
    if isinstance(router, str) and own_kind(router):
        raise ScenarioError(
            f"{path}: {where}: no router is started that only a file names ({router[:200]}); read the file, "
            "then add --allow-exec"
        )


def scenario_of(raw: Mapping[str, Any], path: Path) -> Scenario:
    """The scenario of a mapping that was read from `path`. Raises ScenarioError."""
    raw = dict(raw)
    if "script" in raw and "nodes" not in raw:
        # params.json does not say how many nodes there are; its scripts speak of each of them.
        script = structured_value(raw["script"], tuple[Instruction, ...], path, "script")
        raw["nodes"] = [{"count": max(nodes_named(script), default=-1) + 1 or 1, "protocol": _spoken(script)}]
        raw.setdefault("topology", {"kind": "none"})
        raw.setdefault("heartbeats", "given")
        raw.setdefault("mixed", False)
        raw.setdefault("topics", [])
    made = structured_value(raw, Scenario, path)
    return _resolved(made, path)


def _spoken(script: tuple[Instruction, ...]) -> str:
    """Partial messages, where the script has any; the Go router is whose script it is."""
    kinds = {getattr(each, "type", "") for node in nodes_named(script) for _, each in steps_of(script, node)}
    return "partial-messages-go" if kinds & {"addPartialMessage", "publishPartial"} else "gossipsub-1.2"


def _resolved(scenario: Scenario, path: Path) -> Scenario:
    """Paths made absolute, what is in their files noted, and the parameters that a script gives put where the
    others are."""
    topology, latency = scenario.topology, scenario.links.latency
    if topology.path:
        place, sha256 = _pinned(path, "topology", topology.path, topology.sha256)
        topology = evolve(topology, path=place, sha256=sha256)
    if latency.path:
        place, sha256 = _pinned(path, "links.latency", latency.path, latency.sha256)
        latency = evolve(latency, path=place, sha256=sha256)
    scenario = evolve(scenario, topology=topology, links=evolve(scenario.links, latency=latency))
    groups = initialised_groups(scenario, path)
    return scenario if groups is None else evolve(scenario, nodes=groups, mixed=False)


def _pinned(path: Path, where: str, named: str, sha256: str) -> tuple[str, str]:
    """Where a file is that a scenario names, and the digest of what is in it, which may not have changed.

    A scenario may be a stranger's, and errors quote what is read: it must know a file elsewhere already.
    """
    remedy = f"copy it there, or give its digest as {where}.sha256"
    place = (path.parent / named).resolve() if sha256 else inside(path, named, f"{where}.path", remedy)
    found = hashlib.sha256(bytes_of(place, f"{path}: {where}.path: ")).hexdigest()
    if sha256 not in ("", found):
        raise ScenarioError(
            f"{path}: {where}.sha256: {place} has changed since; bring back what was in it, or remove sha256"
        )
    return str(place), found


def inside(path: Path, named: str, where: str, remedy: str) -> Path:
    """The file that the file `path` names, in its folder. Raises ScenarioError where it is elsewhere."""
    place = (path.parent / named).resolve()
    if not place.is_relative_to(path.parent.resolve()):
        raise ScenarioError(f"{path}: {where}: {named[:200]} is not in the folder of the file; {remedy}")
    return place


def bytes_of(path: Path, where: str = "") -> bytes:
    """What is in a file. Raises ScenarioError, also for what is no file (a FIFO would never end), and for one
    that is too long."""
    try:
        return read_bounded(path, MAX_FILE_BYTES)
    except OSError as error:
        raise ScenarioError(f"{where}{path}: {error.strerror}; give the path of a file") from None


def initialised_groups(scenario: Scenario, path: Path) -> tuple[NodeGroup, ...] | None:
    """A group for each run of nodes that the script gives the same parameters; None where it gives none."""
    given: list[NodeGroup] = []
    some = False
    for node, group in enumerate(each for each in scenario.nodes for _ in range(each.count)):
        group = evolve(group, count=1)
        for _, step in steps_of(scenario.script, node):
            if isinstance(step, InitGossipSubInstruction):
                some = True
                try:
                    group = evolve(group, parameters=Parameters(**parameters_of_go(step.gossipSubParams)))
                except ValueError as error:
                    raise ScenarioError(f"{path}: script, initGossipSub of node {node}: {error}") from None
        if given and evolve(given[-1], count=1) == group:
            given[-1] = evolve(group, count=given[-1].count + 1)
        else:
            given.append(group)
    return tuple(given) if some else None


# -- reading ------------------------------------------------------------------------------------------------


def read_mapping(path: Path) -> dict[str, Any]:
    """What a file of YAML or JSON holds. Raises ScenarioError."""
    data = bytes_of(path)
    if not data.strip():
        raise ScenarioError(f"{path}: empty; write a scenario, such as `nodes: [{{count: 20}}]`")
    try:
        text = data.decode()
        raw = _json_or_yaml(text, path) if text.lstrip().startswith("{") else _yaml(text, path)
        demand_plain(raw)
    except json.JSONDecodeError as error:
        raise ScenarioError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except ScenarioError:
        raise
    except RecursionError:
        raise ScenarioError(f"{path}: cannot be read: nested too deep") from None
    except ValueError as error:
        # Of Python's own advice about long integers nobody here can make use.
        problem = str(error).partition("; use sys.")[0]
        raise ScenarioError(f"{path}: cannot be read: {problem}") from None
    if not isinstance(raw, dict) or not all(isinstance(name, str) for name in raw):
        raise ScenarioError(
            f"{path}: expected fields with names, such as `nodes: [{{count: 20}}]`, got {_short(raw)}"
        )
    return raw


def _json_or_yaml(text: str, path: Path) -> Any:
    """What begins with a brace: JSON, or a mapping of YAML where the file is named so."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        if path.suffix.lower() not in (".yaml", ".yml"):
            raise
        return _yaml(text, path)


def _yaml(text: str, path: Path) -> Any:
    yaml = require("yaml")
    if len(text) > MAX_YAML_BYTES:
        raise ScenarioError(f"{path}: longer than {MAX_YAML_BYTES} bytes of YAML; write it as JSON")
    try:
        demand_shallow(text)
        # The one in C, where it is built, is ten times as fast.
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        # An alias can stand for more than a file could hold.
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text, Loader=loader)):
            raise ScenarioError(f"{path}: has a YAML alias (`*name`); write its value out")
        _demand_once(yaml.compose(text, Loader=loader), path)
        return yaml.load(text, Loader=loader)
    except (AttributeError, KeyError, TypeError) as error:
        # Tags of YAML, such as `!!timestamp`, fail so on what is none.
        raise ScenarioError(f"{path}: not YAML: a value is not what its tag says ({error})") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise ScenarioError(f"{path}{line}: not YAML: {getattr(error, 'problem', None) or error}") from None


def _demand_once(node: Any, path: Path) -> None:
    """Raises ScenarioError for a field that is there twice, of which YAML would drop the first."""
    left = [node]
    while left:
        each = left.pop()
        if getattr(each, "id", "") == "sequence":
            left += each.value
        elif getattr(each, "id", "") == "mapping":
            seen = set[str]()
            for key, value in each.value:
                # Another key than a word is refused where fields are looked at.
                if key.id == "scalar" and key.value in seen:
                    raise ScenarioError(f"{path}:{key.start_mark.line + 1}: {key.value!r} is there twice")
                seen |= {key.value} if key.id == "scalar" else set()
                left.append(value)


def require(module: str) -> Any:
    """A module that scenarios need. Raises ScenarioError that says how to install it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        package = {"yaml": "pyyaml"}.get(module, module)
        raise ScenarioError(
            f"{package} is not installed, which scenarios need: pip install {package}"
        ) from None


def change(raw: dict[str, Any], where: str, value: Any) -> None:
    """Set one value inside nested mappings and lists: `nodes.0.parameters.d`. Raises ScenarioError."""
    at: Any = raw
    names = where.split(".")
    for name, after in zip(names, [*names[1:], ""], strict=True):
        key: Any = int(name) if isinstance(at, list) and name.isdecimal() else name
        if isinstance(at, list) and (not isinstance(key, int) or key >= len(at)):
            raise ScenarioError(f"{where}: {name!r} is none of the {len(at)} entries; they count from 0")
        if not isinstance(at, dict | list):
            raise ScenarioError(f"{where}: nothing is inside of {_short(at)}; name a field of the scenario")
        if not after:
            at[key] = value
            return
        if isinstance(at, dict) and at.get(key) is None:
            at[key] = {}
        at = at[key]


# -- from plain values --------------------------------------------------------------------------------------


def structured_value(raw: Any, kind: Any, path: Path, where: str = "") -> Any:
    """A value of `kind`. Raises ScenarioError with every field that is wrong, up to some."""
    require("cattrs")
    try:
        return _converter().structure(raw, kind)
    except Exception as error:
        problems = list(_problems(error, where))
        shown = "\n  ".join(f"{path}: {problem}" for problem in problems[:MAX_PROBLEMS])
        more = f"\n  and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
        raise ScenarioError(f"{shown}{more}") from None


@lru_cache(maxsize=1)
def _converter() -> Any:
    cattrs: Any = require("cattrs")
    made = cattrs.Converter(forbid_extra_keys=True)
    made.register_structure_hook(int, _exactly(int, "a whole number"))
    made.register_structure_hook(bool, _exactly(bool, "true or false"))
    made.register_structure_hook(str, _exactly(str, "a text"))
    made.register_structure_hook(float, _number)
    made.register_structure_hook_func(lambda kind: kind == Instruction, _instruction(made))
    made.register_structure_hook_func(lambda kind: kind == float | tuple[int, ...], _share_or_nodes)
    made.register_structure_hook_func(_is_publishers, _publishers)
    made.register_structure_hook(Parameters, _with_content_ids(made))
    return made


def _exactly(kind: type[T], what: str) -> Callable[[Any, Any], T]:
    """cattrs would make a number of a text, and true of `no`."""

    def hook(value: Any, _: Any) -> T:
        if isinstance(value, bool) is not (kind is bool) or not isinstance(value, kind):
            raise ValueError(f"expected {what}, got {_short(value)}")
        if kind is str and not str(value).isascii():
            # Half of a surrogate pair is no text.
            str(value).encode()
        return value

    return hook


def _number(value: Any, _: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected a number, got {_short(value)}")
    return float(value)


def _instruction(converter: Any) -> Callable[[Any, Any], Any]:
    def hook(value: Any, _: Any) -> Any:
        named = str(value.get("type")) if isinstance(value, dict) else ""
        if named not in BY_TYPE:
            raise ValueError(f"type: expected one of {', '.join(BY_TYPE)}, got {_short(named)}")
        if named == "initGossipSub":
            # A mapping of values of any kind: cattrs has nothing to check there.
            return InitGossipSubInstruction(gossipSubParams=dict(value.get("gossipSubParams") or {}))
        return converter.structure(value, BY_TYPE[named])

    return hook


def _share_or_nodes(value: Any, _: Any) -> float | tuple[int, ...]:
    if isinstance(value, list):
        return _nodes(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"expected a share from 0 to 1 or a list of node numbers, got {_short(value)}")
    return float(value)


def _is_publishers(kind: Any) -> bool:
    return "round-robin" in str(kind) and "tuple" in str(kind)


def _publishers(value: Any, _: Any) -> Any:
    if isinstance(value, list):
        return _nodes(value)
    if value not in ("random", "round-robin"):
        raise ValueError(f"expected random, round-robin or a list of node numbers, got {_short(value)}")
    return value


def _nodes(value: list[Any]) -> tuple[int, ...]:
    if not all(type(v) is int and 0 <= v < MAX_NODES for v in value):
        raise ValueError(f"expected node numbers from 0, got {_short(value)}")
    return tuple(value)


def _with_content_ids(converter: Any) -> Callable[[Any, Any], Parameters]:
    """Parameters whose ids follow from the data: then the trace can name a message before it is sent."""

    def hook(value: Any, _: Any) -> Parameters:
        if not isinstance(value, dict):
            raise ValueError(f"expected parameters by name, such as {{d: 8}}, got {_short(value)}")
        known = fields_dict(Parameters)
        unknown = [name for name in value if name not in known]
        if unknown:
            raise ValueError(f"no parameter {unknown[0]!r}{_close(str(unknown[0]), known)}")
        given = {"message_id": "content", **value}
        made: dict[str, Any] = {}
        for name, each in given.items():
            try:
                made[name] = converter.structure(each, _hints()[name])
            except Exception as error:
                raise ValueError(f"{name}: {next(_problems(error, ''))}") from None
        return Parameters(**made)

    return hook


@lru_cache(maxsize=1)
def _hints() -> Mapping[str, Any]:
    from typing import get_type_hints

    return get_type_hints(Parameters)


# -- what is wrong ------------------------------------------------------------------------------------------


def _problems(error: BaseException, where: str) -> Iterator[str]:
    """Each problem inside what cattrs raises, with the field where it is."""
    cattrs: Any = require("cattrs")
    if isinstance(error, cattrs.errors.ForbiddenExtraKeysError):
        known = list(fields_dict(error.cl)) if has(error.cl) else []
        for name in sorted(map(str, error.extra_fields)):
            yield f"{_dotted(where, name)}: no such field{_close(name, known)}"
        return
    if not isinstance(error, BaseExceptionGroup):
        yield f"{where}: {_words(error)}" if where else _words(error)
        return
    for each in error.exceptions:
        yield from _problems(each, _dotted(where, *_place(each)))


def _place(error: BaseException) -> list[str]:
    """The field or the index that cattrs notes on an exception."""
    notes = getattr(error, "__notes__", [])
    found = [getattr(n, "name", None) if hasattr(n, "name") else getattr(n, "index", None) for n in notes]
    return [str(each) for each in found[-1:] if each is not None]


def _words(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"the field {error} is missing"
    text = str(error)
    if isinstance(error, TypeError | AttributeError):
        return "expected fields with names, or a list, and not a single value"
    if "not in literal" in text:
        return f"expected one of {text.partition('Literal')[2] or text}"
    return text


def _dotted(where: str, *names: str) -> str:
    return ".".join(filter(None, (where, *names)))


def _close(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f" (did you mean {near[0]}?)" if near else f"; there are {', '.join(known)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


# -- writing ------------------------------------------------------------------------------------------------


def plain_of(scenario: Scenario) -> dict[str, Any]:
    """The scenario as plain values that `scenario_of` reads again; what is as by default is left out."""
    return cast("dict[str, Any]", _plain(scenario))


def _plain(value: Any) -> Any:
    if has(type(value)):
        kept = {}
        for name, attribute in fields_dict(type(value)).items():
            held = getattr(value, name)
            if name in ("type", "message_id") or (name == "format" and isinstance(value, Scenario)):
                kept[name] = held
            elif held != _default(attribute):
                kept[name] = _plain(held)
        return kept
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple | frozenset):
        return [_plain(each) for each in (sorted(value) if isinstance(value, frozenset) else value)]
    return value


def _default(attribute: Any) -> Any:
    default = attribute.default
    return default.factory() if hasattr(default, "factory") else default


def scenario_text(scenario: Scenario) -> str:
    """The scenario as a file that is a scenario of its own."""
    plain = plain_of(scenario)
    if scenario.script:
        return json.dumps(plain, indent=1) + "\n"
    text: str = require("yaml").safe_dump(plain, sort_keys=False, width=100)
    return text
