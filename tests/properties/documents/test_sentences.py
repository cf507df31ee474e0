"""A specification is read as the same sentences however it is written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from quidnunc.model.errors import SpecError
from quidnunc.properties.documents import sentences as clause_text
from quidnunc.properties.documents.sentences import Kind, Sentence, plain, read, read_file, split, words_of

MARKDOWN = """\
# The whisper protocol

| Stage | Revision |
|-------|----------|
| Draft | r1       |

[ref]: https://example.org/ref

<!-- Nobody MUST read this.
```
nor this
```
-->
- [Whispers](#whispers)

## Whispers

A node whispers to `fanout_size` peers,
e.g. to three. It MUST NOT shout; see [the
reference][ref] or [_another_ one](https://example.org "x").

1. First it chooses a peer.
2. Then it whispers. Twice.

* An item that goes
  on here. The `peers[t]` may
  be **empty**.
> A quoted remark never counts less.

| Name | Meaning |
|---|---|
| `loud_max` | How loud it may be |
After the table.

### Algorithm

```python
for peer in peers:

    if loud < loud_max: whisper(peer)
```

    ~~~
    a second = block
    ~~~
"""

PAGE = """\
Skip to content

Latest commit

History
37 lines (20 loc) · 1.2 KB

whisper.md

File metadata and controls

37 lines (20 loc) · 1.2 KB

The whisper protocol

Whispers

A node whispers to fanout_size peers, e.g. to three. It MUST NOT shout; see the reference or another one.

  1. First it chooses a peer.
  2. Then it whispers. Twice.

  • An item that goes on here. The peers[t] may be empty.

Algorithm

for peer in peers {
    whisper(peer);
}
"""

FLATTENED = """\
Stage | Revision |
---|---|
Draft | r1 |
A node whispers to fanout_size
peers, e.g. to three. It MUST NOT shout; see LOUD
.
Then it whispers
/whisper/1.0.0
Twice it may.
message Whisper {
// a comment
repeated bytes ids = 1;
}
"""


def texts(sentences: tuple[Sentence, ...]) -> list[tuple[str, str]]:
    return [(s.kind, s.text) for s in sentences]


def test_markdown_becomes_sentences() -> None:
    assert texts(read(MARKDOWN)) == [
        ("row", "Stage | Revision"),
        ("row", "Draft | r1"),
        ("prose", "A node whispers to fanout_size peers, e.g. to three."),
        ("prose", "It MUST NOT shout; see the reference or another one."),
        ("step", "First it chooses a peer."),
        ("step", "Then it whispers."),
        ("step", "Twice."),
        ("item", "An item that goes on here."),
        ("item", "The peers[t] may be empty."),
        ("item", "A quoted remark never counts less."),
        ("row", "Name | Meaning"),
        ("row", "loud_max | How loud it may be"),
        ("prose", "After the table."),
        ("code", "for peer in peers:\n\n    if loud < loud_max: whisper(peer)"),
        ("code", "a second = block"),
    ]


def test_sentences_know_where_they_stand() -> None:
    found = {s.text: s for s in read(MARKDOWN)}
    assert found["Draft | r1"].heading == ""
    assert found["Then it whispers."].heading == "Whispers"
    assert found["Then it whispers."].line == MARKDOWN.splitlines().index("2. Then it whispers. Twice.") + 1
    assert found["a second = block"].heading == "Algorithm"


def test_what_may_demand_something() -> None:
    normative = [s.text for s in read(MARKDOWN) if s.normative and s.kind not in ("step", "code")]
    assert normative == [
        "It MUST NOT shout; see the reference or another one.",
        "The peers[t] may be empty.",
        "A quoted remark never counts less.",
        "loud_max | How loud it may be",
    ]
    assert all(s.normative for s in read(MARKDOWN) if s.kind in ("step", "code"))


@pytest.mark.parametrize("word", ["must", "SHALL", "Should", "may", "required", "has to", "cannot", "could"])
def test_words_that_demand(word: str) -> None:
    (sentence,) = read(f"A peer {word} whisper")
    assert sentence.normative


@pytest.mark.parametrize("word", ["mustard", "dismay", "goodwill", "a mayor does", "canary"])
def test_words_that_only_look_so(word: str) -> None:
    (sentence,) = read(f"A peer {word} whisper")
    assert not sentence.normative


def test_a_page_has_the_sentences_of_its_markdown() -> None:
    markdown, page = read(MARKDOWN), read(PAGE)
    shared = {s.words for s in markdown} & {s.words for s in page}
    assert {s.words for s in page if s.kind not in ("code", "row")} <= shared
    assert len(shared) >= 7
    (code,) = [s for s in page if s.kind == "code"]
    assert code.text.startswith("for peer") and code.heading == "Algorithm"
    assert page[0].heading == "Whispers", "the title of the document is no heading in it"


def test_a_forge_that_puts_bars_between_lines() -> None:
    bars = "\n".join(f"{line}\n|\n|" if line else "|\n|" for line in MARKDOWN.splitlines())
    head = "mirror of somewhere\nsynced today\n37 lines\nMarkdown\n37 lines\nMarkdown\n"
    assert texts(read(head + bars)) == texts(read(MARKDOWN))


def test_text_that_lost_its_blank_lines() -> None:
    assert texts(read(FLATTENED)) == [
        ("row", "Stage | Revision"),
        ("row", "Draft | r1"),
        ("prose", "A node whispers to fanout_size peers, e.g. to three."),
        ("prose", "It MUST NOT shout; see LOUD."),
        ("prose", "Then it whispers"),
        ("prose", "/whisper/1.0.0"),
        ("prose", "Twice it may."),
        ("code", "message Whisper {\n// a comment\nrepeated bytes ids = 1;\n}"),
    ]


@pytest.mark.parametrize(
    ("text", "count"),
    [("One. Two!", 2), ("It is so, i.e. One; e.g. This one.", 1), ("2.5 seconds. `x` is. No", 3), ("", 0)],
)
def test_sentences_are_split(text: str, count: int) -> None:
    assert len(split(text)) == count


def test_words_are_compared_without_marks_and_case_but_for_demands() -> None:
    assert words_of("The `Mesh_Size`, (now)!") == ("the", "mesh", "size", "now")
    assert words_of("You MAY") != words_of("You may")
    assert words_of("a < b") != words_of("a > b")


@pytest.mark.parametrize(
    ("kind", "text", "other"),
    [
        ("code", "ratio := a / b", "ratio := a * b"),
        ("code", "if a || b", "if a && b"),
        ("code", "select D - n peers", "select D * n peers"),
        ("code", "if x:", "if !x:"),
        ("code", "(a || b) && c", "a || (b && c)"),
        ("prose", "It stores a || b.", "It stores a && b."),
        ("prose", "At least 2 ≤ n.", "At least 2 ≥ n."),
        ("prose", "It takes 2 * D.", "It takes 2 + D."),
    ],
)
def test_an_operator_is_part_of_what_is_said(kind: Kind, text: str, other: str) -> None:
    assert Sentence(text, "", 1, kind).marks != Sentence(other, "", 1, kind).marks


def test_punctuation_is_not() -> None:
    plain = Sentence("A link is mutual: both know it, or neither does.", "", 1)
    assert plain.marks == Sentence("A link is mutual - both know it / or neither *does*.", "", 1).marks
    assert Sentence("a  ||\n b", "", 1, "code").marks == Sentence("a || b", "", 1, "code").marks


def test_a_byte_order_mark_is_no_word(tmp_path: Path) -> None:
    path = tmp_path / "marked.md"
    path.write_bytes(b"\xef\xbb\xbf# Whispers\n\nA peer may whisper.\n")
    assert [s.text for s in read_file(str(path))] == ["A peer may whisper."]
    assert plain("**Bold** _and_ `max_ids` <b>x</b>") == "Bold and max_ids x"


def test_files_that_cannot_be_read_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SpecError, match="nosuch.md: No such file"):
        read_file(str(tmp_path / "nosuch.md"))
    binary = tmp_path / "x.bin"
    binary.write_bytes(b"ab\xff\xfe")
    with pytest.raises(SpecError, match="byte 2 is not UTF-8"):
        read_file(str(binary))
    empty = tmp_path / "empty.md"
    empty.write_text("\n---\n", encoding="utf-8")
    with pytest.raises(SpecError, match="has no sentences"):
        read_file(str(empty))
    long = tmp_path / "long.md"
    long.write_text("One. Two. Three.", encoding="utf-8")
    monkeypatch.setattr(clause_text, "MAX_SENTENCES", 2)
    with pytest.raises(SpecError, match="has 3 sentences, at most 2 are read"):
        read_file(str(long))
    monkeypatch.setattr(clause_text, "MAX_BYTES", 3)
    with pytest.raises(SpecError, match="longer than 3 bytes"):
        read_file(str(binary))


@pytest.mark.parametrize("mark", ["[", "](", "*", "_", "<a", "`", "<!--", "|", "1. ", "- ", "#", "> "])
def test_a_file_of_marks_is_read(mark: str) -> None:
    """In the time of the test run: none of the patterns goes over the rest of the file for each mark."""
    assert read("# A title\n\nBefore them.\n\n" + mark * 20_000)[0].text == "Before them."


@pytest.mark.parametrize("head", ["# T\n\n", ""])
@pytest.mark.parametrize(
    "text",
    [
        "Peers ~~MUST~~ be skipped.",
        "Peers <del>MUST</del> be skipped.",
        "Peers <!-- MUST -->be skipped.",
        "Peers be skipped. ~~They MUST wave. Twice.~~",
        "<!-- They\nMUST --> Peers be skipped.",
    ],
)
def test_comments_and_struck_out_words_are_no_part_of_a_sentence(head: str, text: str) -> None:
    assert [" ".join(each.words) for each in read(head + text)] == ["peers be skipped"]


def test_signs_of_comments_and_strokes_alone_take_nothing_away() -> None:
    assert len(read("Peers send <!-- and wait. They MUST wave.")) == 2
    (about,) = read("# T\n\nAbout ~~10 peers MUST wave.")
    assert about.text == "About ~~10 peers MUST wave."
    assert read("# T\n\n~~~\nx = 1\n~~~\n")[0].kind == "code"
