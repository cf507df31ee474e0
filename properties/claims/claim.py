"""A claim: what is asked of every router, and when it applies where no rule decides."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import field, frozen

from quidnunc.properties.documents.clauses import load
from quidnunc.properties.occasions.occasion import Occasion


@frozen
class Claim:
    """`always`: at every event of every run, what the router does keeps to the clauses."""

    id: str
    says: str
    """Empty: what its first clause says."""
    clauses: tuple[str, ...]
    needs: frozenset[str] = field(factory=frozenset)
    """Capabilities of the driver without which the claim cannot apply."""
    occasions: tuple[Occasion, ...] = ()
    """Of those clauses that no rule decides."""

    @property
    def sentence(self) -> str:
        """What it says, in one line."""
        return self.says or " ".join(load()[self.clauses[0]].text.split())


def claim(id: str, says: str, *clauses: str | Occasion, needs: Iterable[str] = ()) -> Claim:
    """A claim that rests on `clauses`: ids where a rule decides, occasions where none does.

    Without words of its own (`says` is empty) it says what the first of them says, so that the sentence
    stands once.
    """
    occasions = tuple(each for each in clauses if isinstance(each, Occasion))
    ids = tuple(each.clause if isinstance(each, Occasion) else each for each in clauses)
    return Claim(id, says, ids, frozenset(needs), occasions)
