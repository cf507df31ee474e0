"""The words that cases are made of: peers as letters, names that may need quotes, free text.

Every function here comes in a pair, one to write and one to read, and reading gives back what was written.
Errors are ValueErrors that say what was expected; who reads a file adds its name and line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from attrs import frozen, mutable

from quidnunc.model.errors import near_word
from quidnunc.model.rpc import OTHER_AUTHORS, ROUTER, Peer

MAX_PEERS = 1000
"""Peers that one burst may name."""
MAX_REPEAT = 10_000
"""How often one part or output may be repeated."""

STRANGER: Peer = -1
"""An offered peer that is none of ours, as the codec shows it."""
NAMED = {
    ROUTER: "self",
    STRANGER: "stranger",
    **{author: f"{kind}-author" for author, kind in OTHER_AUTHORS.items()},
}
"""Who is no neighbour, and so has no letters."""

_BY_NAME = {name: peer for peer, name in NAMED.items()}
_LETTERS = re.compile(r"[a-z]{1,3}")
_LAST_IN_LETTERS = 26 + 26**2 + 26**3
_NUMBERED = re.compile(r"p([1-9][0-9]{4,11})")
_BARE = re.compile(r"[A-Za-z0-9_@./+:~#*-]+")
_TOKEN = re.compile(r'(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<end>;)|(?P<bare>[^\s";]+)|(?P<space>\s+)')
MAX_DIGITS = 20
_INTEGER = re.compile(rf"-?(?:0|[1-9][0-9]{{0,{MAX_DIGITS - 1}}})")
_DURATION = re.compile(r"([0-9]{1,15})(ms|s)")
_SHORTEST_RANGE = 3


# -- peers --------------------------------------------------------------------------------------------------


def peer_text(peer: Peer) -> str:
    """a to z, aa to az, ba and so on to zzz; beyond it `p` and the number; `self` and `stranger`."""
    if peer in NAMED:
        return NAMED[peer]
    if peer < 0:
        raise ValueError(f"a peer is 1 or more, got {peer}")
    if peer > _LAST_IN_LETTERS:
        return f"p{peer}"
    text, left = "", peer
    while left:
        left, at = divmod(left - 1, 26)
        text = chr(ord("a") + at) + text
    return text


def peer_named(text: str, *, strangers: bool = False) -> Peer:
    """The peer of those letters; `self` and `stranger` where `strangers` may be named."""
    if strangers and text in _BY_NAME:
        return _BY_NAME[text]
    numbered = _NUMBERED.fullmatch(text)
    if numbered and int(numbered[1]) > _LAST_IN_LETTERS:
        return int(numbered[1])
    if not _LETTERS.fullmatch(text):
        raise ValueError(f"expected a peer as letters (a, b, ..., z, aa, ab, ...), got {text!r}")
    peer = 0
    for letter in text:
        peer = 26 * peer + ord(letter) - ord("a") + 1
    return peer


def peers_text(peers: Sequence[Peer]) -> str:
    """`a..d,f`, in the order given; `nobody` for none. Raises ValueError beyond `MAX_PEERS`."""
    if len(peers) > MAX_PEERS:
        raise ValueError(f"a burst names at most {MAX_PEERS} peers, got {len(peers)}")
    runs = [[p for _, p in run] for _, run in groupby(enumerate(peers), lambda x: x[1] - x[0])]
    return ",".join(_run_text(run) for run in runs) or "nobody"


def _run_text(run: Sequence[Peer]) -> str:
    if len(run) >= _SHORTEST_RANGE and run[0] >= 1:
        return f"{peer_text(run[0])}..{peer_text(run[-1])}"
    return ",".join(peer_text(p) for p in run)


def peers_named(text: str, *, strangers: bool = False) -> tuple[Peer, ...]:
    """The peers of `a..d,f`, in that order. Raises ValueError beyond `MAX_PEERS`."""
    if text == "nobody":
        return ()
    found: list[Peer] = []
    for each in text.split(","):
        low, dots, high = each.partition("..")
        first = peer_named(low, strangers=strangers and not dots)
        last = peer_named(high) if dots else first
        if last < first:
            raise ValueError(f"expected a range from a lower to a higher peer, got {each!r}")
        if len(found) + last - first >= MAX_PEERS:
            raise ValueError(f"expected at most {MAX_PEERS} peers in a burst, got more in {text!r}")
        found += range(first, last + 1)
    return tuple(found)


# -- names, numbers, free text ------------------------------------------------------------------------------


def word(text: str) -> str:
    """A topic or an id, in double quotes (as JSON has them) where it is not plain."""
    return text if _BARE.fullmatch(text) else json.dumps(text)


def sentence(*names: str) -> str:
    """Names in a row."""
    return " ".join(map(word, names))


def one_of(text: str, options: Sequence[str], what: str = "") -> str:
    """`text`, which is one of `options`."""
    if text not in options:
        raise ValueError(
            f"expected {what + ': ' if what else ''}{' or '.join(options)}, got {text!r}"
            + near_word(text, options)
        )
    return text


def duration_text(ms: int) -> str:
    """`1500ms`, or `3s` where it is whole seconds."""
    if ms < 0:
        raise ValueError(f"time passes forwards, got {ms} ms")
    return f"{ms // 1000}s" if ms and ms % 1000 == 0 else f"{ms}ms"


def duration_read(text: str) -> int:
    """Milliseconds."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"expected a duration of at most 15 digits (1500ms or 3s), got {text!r}")
    return int(found[1]) * (1000 if found[2] == "s" else 1)


def integer(text: str, what: str, *, least: int | None = None) -> int:
    """A whole number of at most 20 digits. Raises ValueError, naming `what`, for anything else."""
    if not _INTEGER.fullmatch(text) or text == "-0" or (least is not None and int(text) < least):
        bound = "" if least is None else f" of {least} or more"
        if len(text.removeprefix("-")) > MAX_DIGITS:
            bound += f", of at most {MAX_DIGITS} digits"
        raise ValueError(f"expected {what}: a whole number{bound}, got {text!r}")
    return int(text)


def one_line(text: str) -> str:
    """`text` with all white space made one space."""
    return " ".join(text.split())


def free_text(text: str) -> str:
    """The rest of a line: as it is, or in double quotes where a line would not give it back."""
    plain = text.isprintable() and text == " ".join(text.split()) and not text.startswith('"')
    return text if text and plain else json.dumps(text)


def free_text_read(text: str) -> str:
    return _unquoted(text) if text.startswith('"') else text


def _unquoted(text: str) -> str:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ValueError(f"expected text in double quotes, as JSON has it, got {text}: {error}") from None
    if not isinstance(found, str):
        raise ValueError(f"expected text in double quotes, got {text}")
    if any("\ud800" <= letter <= "\udfff" for letter in found):
        raise ValueError(f"half of a surrogate pair, which is no text: {text}")
    return found


# -- tokens -------------------------------------------------------------------------------------------------


@frozen
class Token:
    text: str
    quoted: bool = False


@mutable
class WordReader:
    """The words of one part, taken from left to right."""

    tokens: tuple[Token, ...]
    at: int = 0

    @property
    def left(self) -> bool:
        return self.at < len(self.tokens)

    def next_is(self, text: str) -> bool:
        """Whether the next word is one of the notation's own, and this one."""
        return self.left and self.tokens[self.at] == Token(text)

    def ends_with(self, text: str) -> bool:
        """Whether the last of the words is this one of the notation's own; if so it is taken off."""
        # An option's value is the word after its name, and can be the same word.
        if (len(self.tokens) - self.at) % 2 == 0 or self.tokens[-1] != Token(text):
            return False
        self.tokens = self.tokens[:-1]
        return True

    def name(self, what: str) -> str:
        """The next word as a topic or an id."""
        token = self._next(what)
        if not token.quoted and not _BARE.fullmatch(token.text):
            raise ValueError(f"expected {what}, got {token.text!r}; other characters go in double quotes")
        return token.text

    def bare(self, what: str) -> str:
        """The next word as one of the notation's own."""
        token = self._next(what)
        if token.quoted:
            raise ValueError(f"expected {what}, got {json.dumps(token.text)} in quotes")
        return token.text

    def _next(self, what: str) -> Token:
        if not self.left:
            after = f" after {self.tokens[-1].text!r}" if self.tokens else ""
            raise ValueError(f"expected {what}{after}, got the end")
        self.at += 1
        return self.tokens[self.at - 1]

    def end(self) -> None:
        """Raises ValueError where a word is left."""
        if self.left:
            raise ValueError(f"expected the end, got {self.tokens[self.at].text!r}")


def phrases(text: str) -> tuple[WordReader, ...]:
    """`text` cut at its semicolons, each piece cut into words."""
    pieces: list[list[Token]] = [[]]
    for token in _tokens(text):
        if token is None:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return tuple(WordReader(tuple(piece)) for piece in pieces)


def phrase(text: str) -> WordReader:
    """The words of `text`, which is one piece."""
    found = phrases(text)
    if len(found) != 1:
        raise ValueError("expected one thing to a line, got ';'")
    return found[0]


def _tokens(text: str) -> Iterator[Token | None]:
    """Each word; None for a semicolon."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"expected a closing quote, got {text[at:]!r}")
        at = found.end()
        if found["quoted"] is not None:
            yield Token(_unquoted(found["quoted"]), quoted=True)
        elif found["end"] is not None:
            yield None
        elif found["bare"] is not None:
            yield Token(found["bare"])
