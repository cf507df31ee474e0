"""The command line: one module per command, found by its name in `COMMANDS`."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
import time
import tomllib
import traceback
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import NoReturn

from quidnunc import __version__
from quidnunc.model.errors import CaseError, RuleError, SpecError
from quidnunc.options.outputs import demand_writable
from quidnunc.output import (
    UsageError,
    fix_hash_seed,
    go_on_without_reader,
    process_started,
    say_refusal,
    suggestion,
)

COMMANDS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    files("quidnunc.commands").joinpath("help.toml").read_text(encoding="utf-8")
)
"""Name of a command -> its `summary`, and the `details` below its options."""


GROUPS: Mapping[str, tuple[str, ...]] = {
    "Test a router": ("check", "doctor", "routers", "suite", "replay", "report", "matrix", "recall"),
    "Study a protocol": ("explain", "play", "spec", "clauses", "diff", "explore", "prove", "params"),
    "Watch a network": ("simulate", "sweep", "trace", "ingest"),
    "Keep in CI": ("regress",),
}
"""The commands as `quidnunc --help` lists them."""
CI_NOTE = "  check --expect FILE and replay keep a router; --junit, --sarif and --format github tell the CI"


def _without_usage(parser: argparse.ArgumentParser) -> None:
    """Let it say what is wrong in one line: argparse would print all options before it."""

    def error(message: str) -> NoReturn:
        command = parser.prog.removeprefix("quidnunc").strip()
        said = f"{message.removeprefix('argument ')}; `{parser.prog} --help` lists what it takes"
        raise UsageError(f"{command}: {said}" if command else said)

    parser.error = error  # type: ignore[method-assign]


def parser_of(*names: str) -> argparse.ArgumentParser:
    """The parser of the commands `names`: the others are listed, without their options.

    What a command runs with is not loaded.
    """
    parser = argparse.ArgumentParser(
        prog="quidnunc",
        usage="quidnunc COMMAND ...",
        description="Test gossip routers against an executable specification.\n\n" + "\n".join(_listed()),
        epilog="`quidnunc COMMAND --help` has an example of each.\n"
        "example: quidnunc check gossipsub-1.2 --against ours --runs 200",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _without_usage(parser)
    parser.add_argument("--version", action="version", version=f"quidnunc {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS, prog="quidnunc"
    )
    for name, texts in COMMANDS.items():
        summary = texts["summary"]
        sub = commands.add_parser(
            name,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=texts["details"],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _without_usage(sub)
        # A game has none, and says what to do instead.
        said = argparse.SUPPRESS if name == "play" else "one JSON object on stdout"
        sub.add_argument("--json", action="store_true", help=said)
        if name in names:
            importlib.import_module(f"quidnunc.options.{name}").add_arguments(sub)
    return parser


def _listed() -> Iterator[str]:
    """The commands in their groups, with a line for each."""
    for title, names in GROUPS.items():
        yield f"{title}:"
        yield from (f"  {name:10}{COMMANDS[name]['summary']}" for name in names)
        if title == "Keep in CI":
            yield CI_NOTE
        yield ""


def _options_of(words: Sequence[str]) -> argparse.Namespace:
    """The parsed command line. Raises UsageError for a command or an option that there is not; argparse would
    list all commands, and suggest nothing."""
    name = next(iter(words), "")
    if name and not name.startswith("-") and name not in COMMANDS:
        raise UsageError(f"no command {name!r}{suggestion(name, COMMANDS)}; `quidnunc --help` lists them")
    options, rest = parser_of(name).parse_known_args(words)
    if rest:
        said = "option" if rest[0].startswith("-") else "argument"
        near = suggestion(rest[0].partition("=")[0], _option_names(name)) if said == "option" else ""
        raise UsageError(f"{name} takes no {said} {rest[0]!r}{near}; `quidnunc {name} --help` lists them")
    return options


def _option_names(command: str) -> list[str]:
    parser = argparse.ArgumentParser()
    importlib.import_module(f"quidnunc.options.{command}").add_arguments(parser)
    return [word for action in parser._actions for word in action.option_strings]


def _may_run_python(words: Sequence[str]) -> bool:
    """Whether a router of the user's may run in this process. Who plays by hand sees what it writes, and can
    edit lines only where stdout is descriptor 1."""
    named = any("python:" in word or word == "--allow-exec" for word in words)
    return named and words[0] != "play"


class TermSignal(KeyboardInterrupt):
    """SIGTERM. Once a plain KeyboardInterrupt has passed through `exec`, as in an import that makes classes,
    Python ends a module's run by SIGINT, whatever the exit status was to be."""


def _interrupt(number: int, frame: object) -> None:
    """SIGTERM ends a command as Ctrl-C does."""
    raise TermSignal(number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its result is the exit status (0, 1, 2, 3, 4: see `quidnunc check --help`).

    Without `arguments` those of the process are taken, and it is started anew with a fixed hash seed.
    """
    if arguments is None:
        fix_hash_seed()
        go_on_without_reader(aside=_may_run_python(sys.argv[1:]))
        signal.signal(signal.SIGTERM, _interrupt)
    started = process_started() if arguments is None else time.monotonic()
    try:
        options = _options_of(sys.argv[1:] if arguments is None else arguments)
    except UsageError as error:
        print(f"quidnunc: {error}", file=sys.stderr)
        return 2
    # A budget counts from here.
    options.started = started
    # Not at the top: a process that is started anew, or only says how it is used, does without.
    from quidnunc.impl.seam import AdapterError, NotBuiltError

    try:
        demand_writable(options)
        command = importlib.import_module(f"quidnunc.commands.{options.command}")
        result: int = command.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        print("quidnunc: interrupted", file=sys.stderr)
        return 128 + int(interrupt.args[0] if interrupt.args else signal.SIGINT)
    except (UsageError, CaseError, NotBuiltError, RuleError) as error:
        say_refusal(options.command, error)
        return 2
    except (AdapterError, SpecError, OSError) as error:
        say_refusal(options.command, error)
        return 4
    except Exception:
        # 1 would say that a router fails.
        traceback.print_exc()
        print(f"quidnunc {options.command}: this is a bug in quidnunc", file=sys.stderr)
        return 4
    return result


if __name__ == "__main__":
    raise SystemExit(main())
