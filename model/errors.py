"""The errors of our own tables and files.

A violation of a claim is a verdict, not an error; an error here means that something of ours, or a file that
a user wrote for us, must be corrected. Each message names the thing, the place and the next step.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SpecError(Exception):
    """Our tables are wrong: the clauses, the rules or the protocols contradict themselves or each other."""


class RuleError(Exception):
    """A rule that is not of the kit does what no rule may. The message names the rule and its place."""


class CaseError(Exception):
    """A case does not read. The message is `file:line: what was expected`."""


ALIKE = 0.5
"""The share of pairs of letters in common from which on one name may be meant by another."""
MOST_ALIKE = 3


def similar_names(name: str, names: Iterable[str]) -> tuple[str, ...]:
    """Those of `names` that may be meant by `name`, the nearest first."""
    wanted = _pairs(name)

    def share(other: str) -> float:
        pairs = _pairs(other)
        return 2 * len(wanted & pairs) / max(1, len(wanted) + len(pairs))

    near = [each for each in dict.fromkeys(names) if share(each) >= ALIKE]
    return tuple(sorted(near, key=share, reverse=True)[:MOST_ALIKE])


def _pairs(name: str) -> set[str]:
    return {name[at : at + 2] for at in range(len(name) - 1)}


def near_word(word: str, words: Iterable[str]) -> str:
    """` (did you mean X?)` of what is nearly one of `words`, or nothing."""
    near = get_close_matches(word, list(words), 1)
    return f" (did you mean {near[0]}?)" if near else ""


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """The same, or else `; there are` all of them."""
    known = list(words)
    return near_word(word, known) or f"; there are {', '.join(known)}"


IN_CLONE = "in a clone of quidnunc"


def install_command(extra: str = "") -> str:
    """What installs the kit, or one of its extras, in a clone of its repository."""
    return f"pip install '.[{extra}]'" if extra else "pip install ."


def install_words(extra: str = "") -> str:
    """How to install the kit, or one of its extras. No index has a release; with one, this changes."""
    return f"{install_command(extra)} {IN_CLONE}"
