"""The command line: one module per command, found by its name in `COMMANDS`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType

from quidnunc import __version__
from quidnunc.asked import fix_hash_seed
from quidnunc.impl.seam import AdapterError
from quidnunc.model.errors import CaseError, SpecError
from quidnunc.output import UsageError

COMMANDS = {
    "check": "run a router beside the model and report claim by claim",
    "simulate": "one simulated network of real routers, as a trace",
    "sweep": "many runs of networks or of property tests, on all cores or on Spark",
    "ingest": "traces of any size to tables, metrics and violations, on Spark",
    "trace": "hold a recorded trace against the claims, or measure it",
    "replay": "replay case files against the model and a router",
    "routers": "what can be driven here, and why the others can not",
    "doctor": "run the control of every claim on a router, and say what its driver lacks",
    "suite": "list the fixed suite, or export it",
    "clauses": "the clause table and its coverage",
    "explain": "show one clause, claim or case",
    "diff": "what differs between two protocols: rules, clauses, parameters, wire",
    "regress": "what changes in behaviour between two protocols, and whether that was declared",
    "explore": "every reachable state of a small network of routers",
    "prove": "decide what holds of networks of any size, and show a shortest trace where it does not",
    "params": "what the parameters of a network guarantee, and the cheapest attack where they do not",
}


def parser_of() -> tuple[argparse.ArgumentParser, dict[str, ModuleType]]:
    """The parser of all commands, and the module of each."""
    parser = argparse.ArgumentParser(
        prog="quidnunc",
        description="A compatibility kit for gossip routers: an executable specification that asks a router "
        "'what now?' after every event.",
        epilog="example: quidnunc check gossipsub-1.2 --against ours --runs 200",
    )
    parser.add_argument("--version", action="version", version=f"quidnunc {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    modules = {}
    for name, summary in COMMANDS.items():
        module = importlib.import_module(f"quidnunc.command_{name}")
        modules[name] = module
        sub = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=module.EXAMPLE,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.add_argument("--json", action="store_true", help="one JSON object on stdout")
        module.add_arguments(sub)
    return parser, modules


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its result is the exit status (0, 1, 2, 3, 4: see `quidnunc check --help`).

    Without `arguments` those of the process are taken, and it is started anew with a fixed hash seed.
    """
    if arguments is None:
        fix_hash_seed()
    parser, modules = parser_of()
    options = parser.parse_args(arguments)
    try:
        result: int = modules[options.command].run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # Who reads our output has seen enough; nothing more is written, at the exit neither.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("quidnunc: interrupted", file=sys.stderr)
        return 130
    except (UsageError, CaseError) as error:
        print(f"quidnunc {options.command}: {error}", file=sys.stderr)
        return 2
    except (AdapterError, SpecError, OSError) as error:
        print(f"quidnunc {options.command}: {error}", file=sys.stderr)
        return 4
    except Exception:
        # 1 would say that a router fails.
        traceback.print_exc()
        print(f"quidnunc {options.command}: this is a fault of the tool itself", file=sys.stderr)
        return 4
    return result


if __name__ == "__main__":
    raise SystemExit(main())
