"""A prelude without what its test does not call, in three languages."""

from __future__ import annotations

import pytest

from quidnunc.reports.reproductions import go, javascript, python
from quidnunc.reports.reproductions.shaken import SourceSyntax, shaken

GO = """\
// About the whole file.

// a is called by the test, and calls b.
func a() { b() }

func b() {
	// absent is named here, and not called.
	s := &stream{}
	s.inner()
}

func absent() {}

const (
	first = 1
	other = first
)

type stream struct{}

func (s *stream) Read()  { other() }
func (s *stream) inner() {}
func (s *stream) outer() {}

type unused struct{}

func (u *unused) Read() {}

var _ reader = &stream{}
"""
GO_KEPT = """\
// a is called by the test, and calls b.
func a() { b() }

func b() {
	// absent is named here, and not called.
	s := &stream{}
	s.inner()
}

const (
	first = 1
	other = first
)

type stream struct{}

func (s *stream) Read()  { other() }
func (s *stream) inner() {}

var _ reader = &stream{}"""
JAVASCRIPT = """\
// About the whole file.

const SIZE = 3
const UNUSED = 4

/** Of the test. */
class Run {
  #size = SIZE

  constructor () {
    this.#grow()
  }

  #grow () {
    this.#size += 1
  }

  /** Nobody asks for it. */
  shrink () {
    this.#size -= 1
  }
}

class Seen {
  shrink () {}
}

after(() => { new Seen() })
"""
JAVASCRIPT_KEPT = """\
const SIZE = 3

/** Of the test. */
class Run {
  #size = SIZE

  constructor () {
    this.#grow()
  }

  #grow () {
    this.#size += 1
  }
}

class Seen {
  shrink () {}
}

after(() => { new Seen() })"""
PYTHON = """\
SIZE = 3
UNUSED = 4


@functools.cache
def a():
    return SIZE


class Router:
    \"\"\"One.\"\"\"

    def __init__(self):
        self.size = a()

    # Says nothing.

    def unused(self):
        return UNUSED

    async def used(self):
        return self.size
"""
PYTHON_KEPT = """\
SIZE = 3


@functools.cache
def a():
    return SIZE


class Router:
    \"\"\"One.\"\"\"

    def __init__(self):
        self.size = a()

    async def used(self):
        return self.size"""


@pytest.mark.parametrize(
    ("source", "calls", "syntax", "kept"),
    [
        (GO, "a()", go.SYNTAX, GO_KEPT),
        (JAVASCRIPT, "new Run()", javascript.SYNTAX, JAVASCRIPT_KEPT),
        (PYTHON, "Router().used()", python.SYNTAX, PYTHON_KEPT),
    ],
    ids=["go", "javascript", "python"],
)
def test_what_is_not_called_is_left_out(source: str, calls: str, syntax: SourceSyntax, kept: str) -> None:
    assert shaken(source, calls, syntax) == kept
