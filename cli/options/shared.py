"""Options that several commands have."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from quidnunc.impl.seam import PROFILES
from quidnunc.output import UsageError


def add_profile(parser: argparse.ArgumentParser) -> None:
    """The option that says how the router is configured."""
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        default="shipped",
        help="shipped: the router's default configuration (the default); spec: switch off what it adds to "
        "the protocol",
    )


class OneRouter(argparse.Action):
    """Refuses a second value, which would silently take the place of the first."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest, None) is not None:
            parser.error(f"{option_string} is given twice; `quidnunc matrix` tests several routers")
        setattr(namespace, self.dest, values)


# A list of its own: the protocols take longer to load than a help may.
PROTOCOL_NAMES = (
    *("floodsub", "gossipsub-1.0", "gossipsub-1.1", "gossipsub-1.2-draft", "gossipsub-1.2", "gossipsub-1.3"),
    *("partial-messages", "partial-messages-jvm", "partial-messages-go"),
    *("flood", "dog", "cat-classic", "cat", "peer-limit"),
    *("dog-adr", "dog-adr-prose", "dog-quint", "dog-quint-run", "dog-go", "dog-proposed"),
)
"""Of all protocols, in the order of `quidnunc.model.machine.PROTOCOLS`."""


RESULT_FILES = ("report", "junit", "sarif")
"""Options that name a file for the result, beside what is printed."""


_RESULT_HELP = {
    "report": "write the result as one HTML page, too",
    "junit": "write the result as JUnit XML, too",
    "sarif": "write what fails as SARIF 2.1.0, too",
}


def add_result_files(parser: argparse.ArgumentParser, *names: str) -> None:
    """The options that name a file for the result: all of them, or `names`."""
    for name in names or RESULT_FILES:
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help=_RESULT_HELP[name])
    if not names or "sarif" in names:
        parser.add_argument(
            "--format",
            choices=("text", "github"),
            help="github: print annotations, too",
        )


def check_format(options: argparse.Namespace) -> None:
    """Raises UsageError for annotations beside the one JSON object."""
    if options.json and options.format == "github":
        raise UsageError("--json and --format github exclude each other")


def add_allow_exec(parser: argparse.ArgumentParser) -> None:
    """The option that trusts a file with the routers that it names."""
    parser.add_argument(
        "--allow-exec",
        action="store_true",
        help="start the commands, and import the modules, that the file names as routers; read it first",
    )
