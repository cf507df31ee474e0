"""Acts of a small network, and how they are written: everywhere the same, in cases, records and pages.

    join A t          leave A t         publish A m1 t       verdict B m1 ignore
    deliver A>B       heartbeat B       score A B -50        connect A>B    disconnect A-B
    say F>A graft t; prune t            settle               rounds 3       all join t

    submit A t1       offer A           adjust A             wait A 200ms
    leave A           notice A B        join A B,C           say B>A havetx t1
    commit A t1       begin A>B         begin A

The upper ones are of pubsub routers, the lower ones of mempool nodes; `deliver`, `connect` and `disconnect`
are of both. `deliver A>B`: B takes the oldest message of A. `heartbeat B`: time passes to the next
heartbeat of B. `settle`: everything arrives, and what waits for a verdict is accepted. `rounds 3`: so
often, everything arrives after the heartbeat of each. `say`: who need not be honest has said so. `offer A`:
A offers the next of its pool. `adjust A`: its controller runs. `notice A B`: A notices that B has left.
`join A B,C`: A joins, connected to B and C. `commit A t1`: a block takes t1 out of A's pool. Where a node
does several things at once, `begin A>B`: B's routine for A has gone as far as another one can come in
between, and `deliver A>B` is the rest; `begin A`: A's controller has read its counters, and `adjust A` is
the rest. Behind ` | ` are the choices that were made, in their order and by name, as far as they are not
the usual ones: `heartbeat A | mesh.fill=B,C gossip.targets=-`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, Literal, TypeAlias, cast, get_args

from attrs import evolve, frozen

from quidnunc.model.events import Judgement
from quidnunc.model.rpc import Message, Part, Peer, Prune
from quidnunc.properties.networks.runs import ActError
from quidnunc.properties.notation.parts import Mentions
from quidnunc.properties.notation.words import duration_read, duration_text, phrases

Kind: TypeAlias = Literal[
    "join", "leave", "publish", "verdict", "score", "deliver", "heartbeat", "connect", "disconnect", "say",
    "settle", "rounds", "all", "submit", "offer", "adjust", "notice", "wait", "commit", "begin",
]  # fmt: skip
KINDS: Mapping[str, tuple[Kind, ...]] = {
    "pubsub": (
        "join", "leave", "publish", "verdict", "score", "deliver", "heartbeat", "connect", "disconnect",
        "say", "settle", "rounds", "all",
    ),
    "mempool": (
        "submit", "offer", "deliver", "adjust", "leave", "notice", "join", "wait", "say", "commit", "begin",
        "connect", "disconnect",
    ),
}  # fmt: skip
"""Family -> what can happen in a network of it."""
Answer: TypeAlias = "frozenset[Peer] | bool"
Pick: TypeAlias = tuple[str, Answer]
"""A choice by its name, and what was chosen."""

MAX_ROUNDS = 400


@frozen
class Act:
    """One step of the network."""

    kind: Kind
    node: Peer = 0
    """Who acts; of a `deliver` or `say` who has sent it."""
    peer: Peer = 0
    """The other node concerned."""
    peers: tuple[Peer, ...] = ()
    """Whom a node joins."""
    topic: str = ""
    id: str = ""
    """Of a message or a transaction."""
    value: int = 0
    """A score, a number of rounds, or a time in milliseconds."""
    word: str = ""
    """Of a Join: `requests` or `supports`, of partial messages; of a verdict, the judgement."""
    parts: tuple[Part, ...] = ()
    picks: tuple[Pick, ...] = ()

    @property
    def at(self) -> Peer:
        """The node that takes a step."""
        of_peer = self.kind in ("deliver", "say") or (self.kind == "begin" and self.peer)
        return self.peer if of_peer else self.node

    @property
    def wait_ms(self) -> int:
        return self.value if self.kind == "wait" else 0

    @property
    def judgement(self) -> Judgement:
        if self.word not in get_args(Judgement):
            raise ActError(f"{self.word!r} is no verdict: one of {', '.join(get_args(Judgement))}")
        return cast("Judgement", self.word)

    def __str__(self) -> str:
        *others, last = FORMS[self.kind]
        form = next((each for each in others if all(getattr(self, f) for f in _fields(each))), last)
        text = _FIELD.sub(lambda m: _WORDS[m[1]].text(getattr(self, _WORDS[m[1]].name)), form)
        if not self.picks:
            return text
        return text + " | " + " ".join(f"{name}={answer_text(answer)}" for name, answer in self.picks)


# -- words --------------------------------------------------------------------------------------------------


def name_of(*nodes: Peer) -> str:
    """A letter for each node."""
    return "".join(chr(64 + node) for node in nodes)


def node_named(letter: str) -> Peer:
    """The node of a letter. Raises ActError."""
    if len(letter) != 1 or not "A" <= letter <= "Z":
        raise ActError(f"{letter!r} is no node: nodes are letters A to Z")
    return ord(letter) - 64


def names_text(nodes: Collection[Peer]) -> str:
    """`B,C`, and `-` for nobody."""
    return ",".join(map(name_of, sorted(nodes))) or "-"


def nodes_named(text: str) -> tuple[Peer, ...]:
    """What `names_text` has written. Raises ActError."""
    return () if text == "-" else tuple(map(node_named, text.split(",")))


def answer_text(answer: Answer) -> str:
    """`B,C`, `-` for nobody, `yes` or `no`."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return names_text(answer)


def _pick(text: str) -> Pick:
    name, equals, answer = text.partition("=")
    if not equals or not answer:
        raise ActError(f"expected a choice (`mesh.fill=B,C`), got {text!r}")
    return name, answer == "yes" if answer in ("yes", "no") else frozenset(nodes_named(answer))


def _few(text: str) -> int:
    if int(text) > MAX_ROUNDS:
        raise ActError(f"expected at most {MAX_ROUNDS} rounds, got {text}")
    return int(text)


# -- parts --------------------------------------------------------------------------------------------------

Flawed: TypeAlias = Literal["", "unsigned", "forged"]
_MESSAGE = re.compile(r"message (\S+) (\S+)(?: by ([A-Z]))?(?: (\S+))?")


def part_text(part: Part) -> str:
    """A part of an RPC as cases have it, with letters for nodes."""
    if isinstance(part, Message):
        author = f" by {name_of(part.author)}" if part.author else ""
        return f"message {part.id} {part.topic}{author}" + (f" {part.flaw}" if part.flaw else "")
    if isinstance(part, Prune):
        part = evolve(part, peers=(), records="")
    return Mentions().part_text(part, Mentions().by_router())


def parts_text(parts: Collection[Part]) -> str:
    """The parts of an RPC, with semicolons between them."""
    return "; ".join(map(part_text, parts))


def parts_of(text: str) -> tuple[Part, ...]:
    """What `parts_text` has written. Raises ValueError."""
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


# -- forms --------------------------------------------------------------------------------------------------


@frozen
class _Word:
    """One word of a form: the field of an act that it is of, and how it is read and written."""

    name: str
    pattern: str
    read: Callable[[str], Any] = str
    text: Callable[[Any], str] = str


_WORDS: Mapping[str, _Word] = {
    "node": _Word("node", "[A-Z]", node_named, name_of),
    "peer": _Word("peer", "[A-Z]", node_named, name_of),
    "peers": _Word("peers", "[A-Z](?:,[A-Z])*", nodes_named, names_text),
    "topic": _Word("topic", r"\S+"),
    "id": _Word("id", r"\S+"),
    "role": _Word("word", "requests|supports"),
    "judgement": _Word("word", "accept|reject|ignore"),
    "score": _Word("value", "-?[0-9]{1,6}", int),
    "rounds": _Word("value", "[1-9][0-9]{0,2}", _few),
    "time": _Word("value", r"\S+", duration_read, duration_text),
    "parts": _Word("parts", ".+", parts_of, parts_text),
}
FORMS: Mapping[Kind, tuple[str, ...]] = {
    "join": ("join {node} {peers}", "join {node} {topic} {role}", "join {node} {topic}"),
    "leave": ("leave {node} {topic}", "leave {node}"),
    "publish": ("publish {node} {id} {topic}",),
    "verdict": ("verdict {node} {id} {judgement}",),
    "score": ("score {node} {peer} {score}",),
    "deliver": ("deliver {node}>{peer}",),
    "heartbeat": ("heartbeat {node}",),
    "connect": ("connect {node}>{peer}",),
    "disconnect": ("disconnect {node}-{peer}",),
    "say": ("say {node}>{peer} {parts}",),
    "settle": ("settle",),
    "rounds": ("rounds {rounds}",),
    "all": ("all join {topic}",),
    "submit": ("submit {node} {id}",),
    "offer": ("offer {node}",),
    "adjust": ("adjust {node}",),
    "notice": ("notice {node} {peer}",),
    "wait": ("wait {node} {time}",),
    "commit": ("commit {node} {id}",),
    "begin": ("begin {node}>{peer}", "begin {node}"),
}
"""How an act of each kind is written. Of several forms an act has the first one whose fields it has."""
_FIELD = re.compile(r"\{(\w+)\}")


@cache
def _fields(form: str) -> tuple[str, ...]:
    return tuple(_WORDS[word].name for word in _FIELD.findall(form))


@cache
def _pattern(form: str) -> re.Pattern[str]:
    either = re.sub("}[>-]{", "}[>-]{", form)
    return re.compile(_FIELD.sub(lambda m: f"({_WORDS[m[1]].pattern})", either))


def act_of(text: str, kinds: Collection[Kind] = tuple(FORMS)) -> Act:
    """Read one act of one of these kinds. Raises ValueError that shows the text."""
    said, _, chosen = text.strip().partition(" | ")
    kind = cast("Kind", said.split(" ", 1)[0])
    if kind not in kinds:
        raise ActError(f"expected an act ({', '.join(kinds)}), got {text!r}")
    for form in FORMS[kind]:
        found = _pattern(form).fullmatch(said)
        if found is not None:
            words = [_WORDS[word] for word in _FIELD.findall(form)]
            values = {word.name: word.read(each) for word, each in zip(words, found.groups(), strict=True)}
            return Act(kind, **values, picks=tuple(map(_pick, chosen.split())))
    raise ActError(f"{text!r} is no act of the kind {kind!r}: expected `{'` or `'.join(FORMS[kind])}`")


def acts_of(text: str) -> tuple[Act, ...]:
    """Read acts, one a line or with commas between them."""
    return tuple(act_of(each) for each in re.split(r"\n|, ", text) if each.strip())
