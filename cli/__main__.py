"""The command line: one module per command, found by its name in `COMMANDS`."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import time
import tomllib
import traceback
from collections.abc import Mapping, Sequence
from importlib.resources import files
from types import ModuleType

from quidnunc import __version__
from quidnunc.arguments import fix_hash_seed
from quidnunc.impl.seam import AdapterError, NotBuiltError
from quidnunc.model.errors import CaseError, SpecError
from quidnunc.output import UsageError, process_started, say_refusal

COMMANDS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    files("quidnunc.commands").joinpath("help.toml").read_text(encoding="utf-8")
)
"""Name of a command -> its `summary`, and the `details` below its options."""


def parser_of() -> tuple[argparse.ArgumentParser, dict[str, ModuleType]]:
    """The parser of all commands, and the module of each."""
    parser = argparse.ArgumentParser(
        prog="quidnunc",
        description="Test gossip routers against an executable specification.",
        epilog="example: quidnunc check gossipsub-1.2 --against ours --runs 200",
    )
    parser.add_argument("--version", action="version", version=f"quidnunc {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    modules = {}
    for name, texts in COMMANDS.items():
        summary = texts["summary"]
        module = importlib.import_module(f"quidnunc.commands.{name}")
        modules[name] = module
        sub = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=texts["details"],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.add_argument("--json", action="store_true", help="one JSON object on stdout")
        module.add_arguments(sub)
    return parser, modules


def _interrupt(number: int, frame: object) -> None:
    """SIGTERM ends a command as Ctrl-C does."""
    raise KeyboardInterrupt(number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its result is the exit status (0, 1, 2, 3, 4: see `quidnunc check --help`).

    Without `arguments` those of the process are taken, and it is started anew with a fixed hash seed.
    """
    if arguments is None:
        fix_hash_seed()
        signal.signal(signal.SIGTERM, _interrupt)
    started = process_started() if arguments is None else time.monotonic()
    parser, modules = parser_of()
    options = parser.parse_args(arguments)
    # A budget counts from here.
    options.started = started
    try:
        result: int = modules[options.command].run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe; nothing more may be written, not at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as interrupt:
        print("quidnunc: interrupted", file=sys.stderr)
        return 128 + int(interrupt.args[0] if interrupt.args else signal.SIGINT)
    except (UsageError, CaseError, NotBuiltError) as error:
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
