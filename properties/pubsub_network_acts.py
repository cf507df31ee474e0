"""Acts of a network of pubsub routers, and how they are written.

    join A t          leave A t         publish A m1 t       verdict B m1 ignore
    deliver A>B       heartbeat B       score A B -50        connect A>B    disconnect A-B
    say F>A graft t; prune t            settle               rounds 3       all join t

`deliver A>B`: B takes the oldest RPC of A. `heartbeat B`: time passes to the next heartbeat of B. `settle`:
everything arrives, and what waits for a verdict is accepted. `rounds 3`: so often, everything arrives after
the heartbeat of each. `say`: an attacker's RPC arrives. Behind ` | ` are the choices that were made, in their
order and by name, as far as they are not the usual ones: `heartbeat A | mesh.fill=B,C gossip.targets=-`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, cast, get_args

from attrs import evolve, frozen

from quidnunc.model.events import Judgement
from quidnunc.model.rpc import Message, Part, Peer, Prune
from quidnunc.properties.case_parts import Mentions
from quidnunc.properties.case_words import phrases
from quidnunc.properties.network_runs import ActError

Kind: TypeAlias = Literal[
    "join", "leave", "publish", "verdict", "score", "deliver", "heartbeat", "connect", "disconnect", "say",
    "settle", "rounds", "all",
]  # fmt: skip
Answer: TypeAlias = "frozenset[Peer] | bool"
Pick: TypeAlias = tuple[str, Answer]

MAX_ROUNDS = 400


@frozen
class Act:
    """One step of the network."""

    kind: Kind
    node: Peer = 0
    peer: Peer = 0
    topic: str = ""
    id: str = ""
    value: int = 0
    word: str = ""
    """Of a Join: `requests` or `supports`, of partial messages; of a verdict, the judgement."""
    parts: tuple[Part, ...] = ()
    picks: tuple[Pick, ...] = ()

    @property
    def judgement(self) -> Judgement:
        if self.word not in get_args(Judgement):
            raise ActError(f"{self.word!r} is no verdict: one of {', '.join(get_args(Judgement))}")
        return cast("Judgement", self.word)

    def __str__(self) -> str:
        text = _text(self)
        if not self.picks:
            return text
        return text + " | " + " ".join(f"{name}={answer_text(answer)}" for name, answer in self.picks)


def name_of(node: Peer) -> str:
    """The letter of a node."""
    return chr(64 + node)


def node_named(letter: str) -> Peer:
    """The node of a letter. Raises ActError."""
    if len(letter) != 1 or not "A" <= letter <= "Z":
        raise ActError(f"{letter!r} is no node: nodes are letters A to Z")
    return ord(letter) - 64


def answer_text(answer: Answer) -> str:
    """`B,C`, `-` for nobody, `yes` or `no`."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return ",".join(map(name_of, sorted(answer))) or "-"


def _answer(text: str) -> Answer:
    if text in ("yes", "no"):
        return text == "yes"
    return frozenset() if text == "-" else frozenset(map(node_named, text.split(",")))


def _text(act: Act) -> str:
    a, b = name_of(act.node), name_of(act.peer)
    match act.kind:
        case "join":
            return f"join {a} {act.topic}" + (f" {act.word}" if act.word else "")
        case "leave":
            return f"leave {a} {act.topic}"
        case "publish":
            return f"publish {a} {act.id} {act.topic}"
        case "verdict":
            return f"verdict {a} {act.id} {act.word}"
        case "score":
            return f"score {a} {b} {act.value}"
        case "heartbeat":
            return f"heartbeat {a}"
        case "disconnect":
            return f"disconnect {a}-{b}"
        case "say":
            return f"say {a}>{b} {'; '.join(map(part_text, act.parts))}"
        case "rounds":
            return f"rounds {act.value}"
        case "settle":
            return "settle"
        case "all":
            return f"all join {act.topic}"
    return f"{act.kind} {a}>{b}"


# -- parts --------------------------------------------------------------------------------------------------


def part_text(part: Part) -> str:
    """A part of an RPC as cases have it, with letters for nodes."""
    if isinstance(part, Message):
        author = f" by {name_of(part.author)}" if part.author else ""
        return f"message {part.id} {part.topic}{author}" + (f" {part.flaw}" if part.flaw else "")
    if isinstance(part, Prune):
        part = evolve(part, peers=(), records="")
    return Mentions().part_text(part, Mentions().by_router())


_MESSAGE = re.compile(r"message (\S+) (\S+)(?: by ([A-Z]))?(?: (\S+))?")


def parts_of(text: str) -> tuple[Part, ...]:
    """Read the parts of an RPC, with semicolons between them. Raises ValueError."""
    found: list[Part] = []
    for each in text.split(";"):
        message = _MESSAGE.fullmatch(each.strip())
        if message is None:
            (words,) = phrases(each)
            found.append(Mentions().part(words, Mentions().by_router()))
            words.end()
        else:
            author = node_named(message[3]) if message[3] else None
            found.append(Message(message[1], message[2], author, flaw=cast("Flawed", message[4] or "")))
    return tuple(found)


Flawed: TypeAlias = Literal["", "unsigned", "forged"]

# -- reading ------------------------------------------------------------------------------------------------

_LINK = r"([A-Z])[>-]([A-Z])"
_WORD = r"(\S+)"
_FORMS: Mapping[Kind, tuple[str, Callable[[re.Match[str]], Act]]] = {
    "join": (
        rf"join ([A-Z]) {_WORD}(?: (requests|supports))?",
        lambda m: Act("join", node_named(m[1]), topic=m[2], word=m[3] or ""),
    ),
    "leave": (rf"leave ([A-Z]) {_WORD}", lambda m: Act("leave", node_named(m[1]), topic=m[2])),
    "publish": (
        rf"publish ([A-Z]) {_WORD} {_WORD}",
        lambda m: Act("publish", node_named(m[1]), id=m[2], topic=m[3]),
    ),
    "verdict": (
        rf"verdict ([A-Z]) {_WORD} (accept|reject|ignore)",
        lambda m: Act("verdict", node_named(m[1]), id=m[2], word=m[3]),
    ),
    "score": (
        r"score ([A-Z]) ([A-Z]) (-?[0-9]{1,6})",
        lambda m: Act("score", node_named(m[1]), node_named(m[2]), value=int(m[3])),
    ),
    "deliver": (rf"deliver {_LINK}", lambda m: Act("deliver", node_named(m[1]), node_named(m[2]))),
    "heartbeat": (r"heartbeat ([A-Z])", lambda m: Act("heartbeat", node_named(m[1]))),
    "connect": (rf"connect {_LINK}", lambda m: Act("connect", node_named(m[1]), node_named(m[2]))),
    "disconnect": (rf"disconnect {_LINK}", lambda m: Act("disconnect", node_named(m[1]), node_named(m[2]))),
    "say": (
        rf"say {_LINK} (.+)",
        lambda m: Act("say", node_named(m[1]), node_named(m[2]), parts=parts_of(m[3])),
    ),
    "settle": (r"settle", lambda m: Act("settle")),
    "rounds": (r"rounds ([1-9][0-9]{0,2})", lambda m: Act("rounds", value=_few(int(m[1])))),
    "all": (rf"all join {_WORD}", lambda m: Act("all", topic=m[1])),
}


def _few(rounds: int) -> int:
    if rounds > MAX_ROUNDS:
        raise ActError(f"expected at most {MAX_ROUNDS} rounds, got {rounds}")
    return rounds


def act_of(text: str) -> Act:
    """Read one act. Raises ActError that shows the text."""
    said, _, chosen = text.partition(" | ")
    kind = said.split(" ", 1)[0]
    if kind not in _FORMS:
        raise ActError(f"expected an act ({', '.join(_FORMS)}), got {text!r}")
    form, made = _FORMS[cast("Kind", kind)]
    found = re.fullmatch(form, said)
    if found is None:
        raise ActError(f"{text!r} is no act of the kind {kind!r}")
    return evolve(made(found), picks=tuple(map(_pick, chosen.split())))


def _pick(text: str) -> Pick:
    name, equals, answer = text.partition("=")
    if not equals or not answer:
        raise ActError(f"expected a choice (`mesh.fill=B,C`), got {text!r}")
    return name, _answer(answer)


def acts_of(text: str) -> tuple[Act, ...]:
    """Read acts, one a line."""
    return tuple(act_of(line.strip()) for line in text.splitlines() if line.strip())
