"""Requests and replies of the seam as JSON values, one object a line; seam.schema.json is their schema.

Bytes are base64 with padding. What a reply leaves out has its default.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from quidnunc.impl.seam import FORMAT, AdapterError, Config, Delivery, Hello, Reply
from quidnunc.impl.seam.conformance import check_known
from quidnunc.impl.seam.partial_json import call_json, call_of
from quidnunc.model.parameters import DogParameters, Parameters, ParameterSet
from quidnunc.model.score_parameters import ScoreParameters, TopicScoreParameters

LINE_BYTES_MAX = 64 << 20
"""Of one line, either way. A burst of messages of 1 MiB to forty peers fits."""

INIT_KEYS: Mapping[str, type[ParameterSet]] = {"parameters": Parameters, "dog": DogParameters}
"""The key of `init` under which a router is given its parameters, by family; the others are null."""
HELLO_KEYS = frozenset(
    {"name", "version", "protocols", "capabilities", "fixed", "format", "additions", "switched"}
)
REPLY_KEYS = frozenset({"t", "out", "delivered", "dials", "closed", "crashed", "state", "partial"})


def text_of(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def bytes_of(value: object, where: str) -> bytes:
    """Raises AdapterError, naming `where`, for what is not base64."""
    try:
        return b64decode(_as(value, str, where), validate=True)
    except (binascii.Error, ValueError) as error:
        raise AdapterError(f"{where}: not base64 ({error})") from error


def init_of(config: Config) -> dict[str, object]:
    """The first request of a conversation. Who the router is goes without saying where it is peer 0."""
    init: dict[str, object] = {
        "op": "init",
        "format": FORMAT,
        "seed": config.seed,
        "protocol": config.protocol,
        **{
            key: _plain(config.parameters) if isinstance(config.parameters, kind) else None
            for key, kind in INIT_KEYS.items()
        },
        "extras": config.extras,
    }
    if config.without:
        init["without"] = list(config.without)
    return {**init, "identity": config.identity} if config.identity else init


def config_of(request: Mapping[str, object]) -> Config:
    """Raises AdapterError for a request that is no `init` of our format."""
    if request.get("format") != FORMAT:
        raise AdapterError(f"init: format {request.get('format')!r}, this side speaks {FORMAT}")
    given = [key for key in INIT_KEYS if request.get(key) is not None]
    if len(given) > 1:
        raise AdapterError(f"init: expected one of {' and '.join(given)}, got both")
    made = [_made(INIT_KEYS[key], request[key], f"init.{key}") for key in given]
    return Config(
        seed=_as(request.get("seed", 0), int, "init.seed"),
        protocol=_as(request.get("protocol"), str, "init.protocol"),
        parameters=made[0] if made else None,
        profile="shipped" if _as(request.get("extras", False), bool, "init.extras") else "spec",
        without=tuple(_list(request.get("without", []), str, "init.without")),
        identity=_as(request.get("identity", 0), int, "init.identity"),
    )


def hello_json(hello: Hello) -> dict[str, object]:
    said: dict[str, object] = {
        "name": hello.name,
        "version": hello.version,
        "protocols": list(hello.protocols),
        "capabilities": sorted(hello.capabilities),
        "fixed": dict(hello.fixed),
        "format": hello.format,
    }
    if hello.additions:
        said["additions"] = dict(hello.additions)
    if hello.switched:
        said["switched"] = {what: list(clauses) for what, clauses in hello.switched.items()}
    return said


def hello_of(answer: Mapping[str, object]) -> Hello:
    """Raises AdapterError for an answer that is no hello of our format."""
    check_known(answer, ("hello", "again"), "unknown key")
    hello = _as(answer.get("hello"), dict, "hello")
    if hello.get("format") != FORMAT:
        raise AdapterError(f"hello.format: {hello.get('format')!r}, this kit speaks {FORMAT}")
    check_known(hello, HELLO_KEYS, "hello: unknown key")
    fixed = _as(hello.get("fixed", {}), dict, "hello.fixed")
    additions = _as(hello.get("additions", {}), dict, "hello.additions")
    switched = _as(hello.get("switched", {}), dict, "hello.switched")
    return Hello(
        name=_as(hello.get("name"), str, "hello.name"),
        version=_as(hello.get("version"), str, "hello.version"),
        protocols=tuple(_list(hello.get("protocols"), str, "hello.protocols")),
        capabilities=frozenset(_list(hello.get("capabilities", []), str, "hello.capabilities")),
        fixed={name: _number(value, f"hello.fixed.{name}") for name, value in fixed.items()},
        additions={name: _as(says, str, f"hello.additions.{name}") for name, says in additions.items()},
        switched={what: tuple(_list(c, str, "hello.switched")) for what, c in switched.items()},
    )


def reply_json(reply: Reply) -> dict[str, object]:
    """Only what is not the default: an idle step is `{"t":500}`."""
    answer: dict[str, object] = {"t": reply.t_ms}
    if reply.out:
        answer["out"] = [[peer, channel, text_of(data)] for peer, channel, data in reply.out]
    if reply.delivered:
        answer["delivered"] = [[one.topic, text_of(one.data)] for one in reply.delivered]
    if reply.dials:
        answer["dials"] = list(reply.dials)
    if reply.closed:
        answer["closed"] = list(reply.closed)
    if reply.crashed:
        answer["crashed"] = reply.crashed
    if reply.state:
        answer["state"] = reply.state
    if reply.partial:
        answer["partial"] = [call_json(call) for call in reply.partial]
    return answer


def reply_of(answer: Mapping[str, object]) -> Reply:
    """Raises AdapterError, naming the key, for a value of another shape."""
    if not answer.keys() <= REPLY_KEYS:
        check_known(answer, REPLY_KEYS, "unknown key")
    t_ms = _as(answer.get("t"), int, "reply.t")
    # Most replies have one or two of these keys.
    return Reply(t_ms=t_ms, **{key: read(answer[key]) for key, read in _READ.items() if key in answer})


def _sent(item: list[object]) -> tuple[int, int, bytes]:
    if len(item) != 3:
        raise AdapterError(f"reply.out: need [peer, channel, base64], got {len(item)} values")
    peer, channel = _as(item[0], int, "reply.out peer"), _as(item[1], int, "reply.out channel")
    return peer, channel, bytes_of(item[2], "reply.out bytes")


def _delivery(item: list[object]) -> Delivery:
    if len(item) != 2:
        raise AdapterError(f"reply.delivered: need [topic, base64], got {len(item)} values")
    return Delivery(
        topic=_as(item[0], str, "reply.delivered topic"), data=bytes_of(item[1], "reply.delivered bytes")
    )


def _plain(parameters: ParameterSet) -> dict[str, object]:
    values = attrs.asdict(parameters)
    return {name: sorted(v) if isinstance(v, frozenset) else v for name, v in values.items()}


def _made(kind: Any, value: object, where: str) -> Any:
    given = dict(_as(value, dict, where))
    unknown = sorted(set(given) - {field.name for field in attrs.fields(kind)})
    if unknown:
        raise AdapterError(
            f"{where}: no parameter {', '.join(unknown)}; is the other side of another version?"
        )
    if isinstance(given.get("scores"), dict):
        given["scores"] = _scores(given["scores"], f"{where}.scores")
    for name in {"explicit_peers", "persistent_peers", "unconditional_peers"} & set(given):
        given[name] = frozenset(_list(given[name], int, f"{where}.{name}"))
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:
        raise AdapterError(f"{where}: {error}") from error


def _scores(value: object, where: str) -> ScoreParameters:
    given = dict(_as(value, dict, where))
    topics = _list(given.get("topics", []), dict, f"{where}.topics")
    made = (_made(TopicScoreParameters, t, f"{where}.topics[{at}]") for at, t in enumerate(topics))
    found: ScoreParameters = _made(ScoreParameters, {**given, "topics": tuple(made)}, where)
    return found


_READ: Mapping[str, Callable[[object], Any]] = {
    "out": lambda said: tuple(map(_sent, _list(said, list, "reply.out"))),
    "delivered": lambda said: tuple(map(_delivery, _list(said, list, "reply.delivered"))),
    "dials": lambda said: tuple(_list(said, int, "reply.dials")),
    "closed": lambda said: tuple(_list(said, int, "reply.closed")),
    "crashed": lambda said: _as(said, str, "reply.crashed"),
    "state": lambda said: _as(said, dict, "reply.state"),
    "partial": lambda said: tuple(call_of(each, bytes_of) for each in _list(said, dict, "reply.partial")),
}
"""Key of a reply, which is a field of `Reply`, too -> how it is read."""


def _as(value: object, kind: type, where: str) -> Any:
    # A bool is an int to Python and not to JSON.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise AdapterError(f"{where}: need {kind.__name__}, got {type(value).__name__}")
    return value


def _number(value: object, where: str) -> int | float:
    # An integer stays one: a parameter that counts peers must not become a float on its way.
    number: int | float = _as(value, int if isinstance(value, int) else float, where)
    return number


def _list(value: object, kind: type, where: str) -> list[Any]:
    return [_as(item, kind, where) for item in _as(value, list, where)]
