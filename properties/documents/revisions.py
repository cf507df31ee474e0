"""A specification against what the clauses say of it, and two revisions of one against each other."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from attrs import evolve, frozen

from quidnunc.properties.documents.named_sentences import (
    NamedSentence,
    SentenceDigest,
    SpecificationText,
    digest,
    named_sentences,
    quoted_at,
)
from quidnunc.properties.documents.sentences import Sentence, split, words_of

Fate: TypeAlias = Literal["found", "moved", "changed", "gone"]

ALIKE = 0.6
"""The share of common words from which on two sentences are taken for revisions of one."""

NAMED_ALIKE = 0.75
"""The same of the few words by which a clause names a sentence."""

MAX_BETWEEN = 3
"""Sentences that came into a quote and are shown; of more only their number."""


@frozen(kw_only=True)
class Quote:
    """What became of the quote of one clause, or of the phrase that shows its keyword, in a revision."""

    clause: str
    fate: Fate
    line: int
    """Where the quote, or what is left of it, stands; 0 where it is gone."""
    heading: str
    was: str
    """The heading that it stood under at the revision of the clause."""
    change: str
    """What was taken out and put in, as `[-old-]` and `{+new+}`; empty unless it changed."""
    instead: tuple[Sentence, ...] = ()
    """The sentences that it changed into, which are in a clause by that."""
    only_in: str = ""
    """Of a phrase: the one revision that has it, where the revision of the clauses does not."""

    @property
    def fails(self) -> bool:
        """Whether the text has no longer what the clause says of it."""
        return self.fate in ("changed", "gone") and not self.only_in


@frozen
class AlteredSentence:
    """A sentence that clauses name, and that was not so at the revision of the clauses."""

    sentence: Sentence
    names: tuple[str, ...]
    changes: tuple[str, ...] = ()
    """Of the words by which clauses name it, those that changed, as `[-old-]` and `{+new+}`."""


@frozen(kw_only=True)
class SpecificationReport:
    """A specification, read against the clauses of its documents."""

    text: SpecificationText
    known: float
    """The share of its sentences that are those of the revision that the clauses were taken from."""
    quotes: tuple[Quote, ...]
    phrases: tuple[Quote, ...]
    """The words that show a keyword, of the clauses whose quote does not."""
    sentences: tuple[NamedSentence, ...]
    lost: tuple[SentenceDigest, ...]
    """Sentences of that revision that clauses name, and that are not here as they were."""

    altered: tuple[AlteredSentence, ...]

    @property
    def removed(self) -> tuple[SentenceDigest, ...]:
        """Those of the lost ones that are not here in other words, with the clauses of which that is true."""
        words = (*self.quotes, *self.phrases)
        changed = {name for n in self.altered for name in n.names}
        changed |= {each.clause for each in words if each.fate == "changed"}
        left = (evolve(p, names=tuple(n for n in p.names if n not in changed)) for p in self.lost)
        return tuple(each for each in left if each.names)

    @property
    def _explained(self) -> frozenset[Sentence]:
        """The sentences that are in a clause because they came of one that is."""
        quoted = {s for each in (*self.quotes, *self.phrases) for s in each.instead}
        return frozenset(quoted | {each.sentence for each in self.altered})

    @property
    def unnamed(self) -> tuple[Sentence, ...]:
        """The sentences that may demand something and that no clause names."""
        changed = self._explained
        return tuple(n.sentence for n in self.sentences if n.unnamed and n.sentence not in changed)

    @property
    def new(self) -> tuple[Sentence, ...]:
        """The sentences that were not there at that revision, belong to no clause and have no word that
        demands: a rule may be written as what a router does."""
        then, changed = self.text.digests, self._explained
        return tuple(
            n.sentence
            for n in self.sentences
            if not (n.names or n.reason or n.sentence.normative or n.sentence in changed)
            and digest(n.sentence.marks) not in then
        )

    def of(self, fate: Fate) -> tuple[Quote, ...]:
        return tuple(q for q in self.quotes if q.fate == fate)


def report(sentences: Sequence[Sentence], text: SpecificationText) -> SpecificationReport:
    """Look for the quote and the phrase of every clause of `text`, and for sentences that no clause names."""
    found = named_sentences(sentences, text)
    digests = [digest(s.marks) for s in sentences]
    known = sum(each in text.digests for each in digests) / len(sentences)
    quotes = tuple(
        _fate_of(c.quote, c.id, sentences, text.quoted[c.id]) for c in text.clauses() if c.id in text.quoted
    )
    named = {name for each in text.prints for name in each.names}
    phrases = tuple(
        evolve(_fate_of(c.phrase, c.id, sentences, ""), only_in=c.phrase_in)
        for c in text.clauses()
        if c.phrase and (c.id in named or c.phrase_in)
    )
    lost = text.lost(digests)
    altered = tuple(_altered(found, text, lost))
    return SpecificationReport(
        text=text,
        known=known,
        quotes=quotes,
        phrases=phrases,
        sentences=found,
        lost=lost,
        altered=altered,
    )


def _altered(
    found: Sequence[NamedSentence], text: SpecificationText, lost: Iterable[SentenceDigest]
) -> Iterator[AlteredSentence]:
    """Sentences that are not as they were, and that clauses name: by their words, or by most of the words
    of a clause whose sentence is lost."""
    missing = {name for each in lost for name in each.names}
    # A clause may name several sentences: only the words that are nowhere any more can have changed.
    open_ = [
        (run, clause)
        for run, clause in text.names
        if clause in missing and not any(run in n.sentence.run for n in found)
    ]
    for each in found:
        if digest(each.sentence.marks) in text.digests:
            continue
        near = {
            clause: change for run, clause in open_ if (change := _named_by(run.split(), each.sentence.words))
        }
        if each.names or near:
            changes = tuple(dict.fromkeys(near.values()))
            yield AlteredSentence(each.sentence, tuple(dict.fromkeys((*each.names, *near))), changes)


def _named_by(fragment: Sequence[str], words: Sequence[str]) -> str:
    """What changed in the words by which a clause names a sentence; empty where too few of them are left."""
    if likeness(fragment, words) < NAMED_ALIKE:
        return ""
    blocks = SequenceMatcher(None, fragment, words, autojunk=False).get_matching_blocks()
    matched = [b for b in blocks if b.size]
    # What the fragment has before the first common word, and after the last, may stand there in other words.
    start = max(0, matched[0].b - matched[0].a)
    end = matched[-1].b + matched[-1].size + len(fragment) - matched[-1].a - matched[-1].size
    return word_diff(" ".join(fragment), " ".join(words[start:end]))


def _fate_of(words: str, clause: str, sentences: Sequence[Sentence], was: str) -> Quote:
    """What became of the quote or the phrase of a clause, which stood under the heading `was`."""
    places = quoted_at(sentences, words)
    if places:
        at = sentences[places[0]]
        # A text without headings cannot tell where a sentence moved.
        moved = bool(at.heading and was) and words_of(at.heading) != words_of(was)
        fate: Fate = "moved" if moved else "found"
        return Quote(clause=clause, fate=fate, line=at.line, heading=at.heading, was=was, change="")
    parts = split(words)
    nearest = [_nearest(part, sentences) for part in parts]
    kept = [(part, near) for part, near in zip(parts, nearest, strict=True) if near is not None]
    if not kept:
        return Quote(clause=clause, fate="gone", line=0, heading="", was=was, change="")
    change = _change_of(parts, nearest, sentences)
    instead = tuple(near for _, near in kept)
    return Quote(
        clause=clause,
        fate="changed",
        line=instead[0].line,
        heading=instead[0].heading,
        was=was,
        change=change,
        instead=instead,
    )


def _change_of(
    parts: Sequence[str], nearest: Sequence[Sentence | None], sentences: Sequence[Sentence]
) -> str:
    """The sentences of a quote with what changed in them, what is gone, and what came in between."""
    shown: list[str] = []
    last: int | None = None
    for part, near in zip(parts, nearest, strict=True):
        if near is None:
            shown.append(f"[-{part}-]")
            continue
        at = next(i for i, each in enumerate(sentences) if each is near)
        if last is not None and at < last:
            shown.append("(now stands before it:)")
        elif last is not None and at - last > 1 + MAX_BETWEEN:
            shown.append(f"{{+({at - last - 1} other sentences)+}}")
        elif last is not None:
            shown += [f"{{+{each.text}+}}" for each in sentences[last + 1 : at]]
        shown.append(word_diff(part, near.text))
        last = at
    return " ".join(shown)


def _nearest(part: str, sentences: Iterable[Sentence]) -> Sentence | None:
    """The sentence most like a quoted one, which may be a piece of it."""
    best, score = None, ALIKE
    words = words_of(part)
    for sentence in sentences:
        similar = likeness(words, sentence.words)
        if similar > score:
            best, score = sentence, similar
    return best


def likeness(quoted: Sequence[str], words: Sequence[str]) -> float:
    """The share of words that a quote has in common, in order, with the part of a sentence it may be from."""
    if not set(quoted) & set(words):
        return 0.0
    blocks = SequenceMatcher(None, quoted, words, autojunk=False).get_matching_blocks()
    matched = [b for b in blocks if b.size]
    if not matched:
        return 0.0
    # A quote may leave out how its sentence begins and ends; only what lies between is held against it.
    span = matched[-1].b + matched[-1].size - matched[0].b
    return 2 * sum(b.size for b in matched) / (len(quoted) + span)


# -- two revisions ------------------------------------------------------------------------------------------

Kind: TypeAlias = Literal["changed", "removed", "added", "moved"]


@frozen(kw_only=True)
class SentenceChange:
    """One sentence that is not the same in both revisions, with the clauses that name either side."""

    kind: Kind
    old: NamedSentence | None
    new: NamedSentence | None

    @property
    def clauses(self) -> tuple[str, ...]:
        sides = [side for side in (self.old, self.new) if side is not None]
        return tuple(dict.fromkeys(name for side in sides for name in side.names))

    @property
    def text(self) -> str:
        """The sentence, with what was taken out as `[-old-]` and what was put in as `{+new+}`."""
        if self.old is None:
            return f"{{+{self.new.sentence.text if self.new else ''}+}}"
        if self.new is None:
            return f"[-{self.old.sentence.text}-]"
        return word_diff(self.old.sentence.text, self.new.sentence.text)


def changes(old: Sequence[NamedSentence], new: Sequence[NamedSentence]) -> tuple[SentenceChange, ...]:
    """Every sentence of two revisions that changed, in the order of the new one; removed ones at their place.

    A sentence that stands elsewhere is `moved`: under another heading, where both revisions have headings, or
    in another order. Of those in another order the most stay where they are.
    """
    olds, news = [o.sentence.marks for o in old], [n.sentence.marks for n in new]
    pairs = _pairs(olds, news)
    taken = {o for o, _ in pairs.values()}
    stay = _in_order({at: of for at, (of, _) in pairs.items()})
    found: list[tuple[float, SentenceChange]] = []
    for at, sentence in enumerate(new):
        if at not in pairs:
            found.append((at, SentenceChange(kind="added", old=None, new=sentence)))
            continue
        of, _ = pairs[at]
        if olds[of] != news[at]:
            found.append((at, SentenceChange(kind="changed", old=old[of], new=sentence)))
        elif at not in stay or _other_heading(old[of].sentence, sentence.sentence):
            found.append((at, SentenceChange(kind="moved", old=old[of], new=sentence)))
    place = {of: at for at, (of, _) in pairs.items()}
    last = -1.0
    for of, sentence in enumerate(old):
        last = place.get(of, last)
        if of not in taken:
            found.append((last + 0.5, SentenceChange(kind="removed", old=sentence, new=None)))
    return tuple(change for _, change in sorted(found, key=lambda each: each[0]))


def _in_order(pairs: Mapping[int, int]) -> frozenset[int]:
    """Places in the new revision whose sentences come one after another in the old one, too: the most."""
    ends: list[int] = []
    """By length: the least old place that ends a run of it."""
    last: list[int] = []
    """By length: the new place of that."""
    before: dict[int, int] = {}
    for at, of in sorted(pairs.items()):
        length = bisect_left(ends, of)
        ends[length : length + 1] = [of]
        last[length : length + 1] = [at]
        before[at] = last[length - 1] if length else -1
    stay, at = set(), last[-1] if last else -1
    while at >= 0:
        stay.add(at)
        at = before[at]
    return frozenset(stay)


def _other_heading(old: Sentence, new: Sentence) -> bool:
    return bool(old.heading and new.heading) and words_of(old.heading) != words_of(new.heading)


def _pairs(olds: Sequence[tuple[str, ...]], news: Sequence[tuple[str, ...]]) -> dict[int, tuple[int, float]]:
    """By place in the new revision: the place of the old sentence that it is, and how alike they are."""
    pairs: dict[int, tuple[int, float]] = {}
    matcher = SequenceMatcher(None, olds, news, autojunk=False)
    for block in matcher.get_matching_blocks():
        pairs.update({block.b + i: (block.a + i, 1.0) for i in range(block.size)})
    taken = {of for of, _ in pairs.values()}
    left = [of for of in range(len(olds)) if of not in taken]
    open_ = [at for at in range(len(news)) if at not in pairs]
    ranked = sorted(((_ratio(olds[of], news[at]), -of, -at) for of in left for at in open_), reverse=True)
    for ratio, of, at in ranked:
        if ratio < ALIKE:
            break
        if -of not in taken and -at not in pairs:
            pairs[-at] = (-of, ratio)
            taken.add(-of)
    return pairs


def _ratio(old: Sequence[str], new: Sequence[str]) -> float:
    """How alike two sentences are; their lengths and words are asked first, since most are not alike."""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if matcher.real_quick_ratio() < ALIKE or matcher.quick_ratio() < ALIKE:
        return 0.0
    return matcher.ratio()


def word_diff(old: str, new: str) -> str:
    """`new` with what it has not from `old` as `{+new+}`, and what is left out of it as `[-old-]`."""
    a, b = old.split(), new.split()
    # Case and marks of single words count, since a "may" that becomes a "MAY" is a change.
    parts: list[str] = []
    for tag, a1, a2, b1, b2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            parts.append(" ".join(b[b1:b2]))
            continue
        if a2 > a1:
            parts.append(f"[-{' '.join(a[a1:a2])}-]")
        if b2 > b1:
            parts.append(f"{{+{' '.join(b[b1:b2])}+}}")
    return " ".join(parts)
