"""A router as it is known to be built: the protocol with every departure that its expectations file names.

The file is the one that `quidnunc check --expect` reads. It turns nothing green; here it makes a router one
side of a comparison, so that it can be said what a change of the specification would ask of it.
"""

from __future__ import annotations

from pathlib import Path

from quidnunc.model.edit import Edit, edited
from quidnunc.model.edits.aliases import current_name
from quidnunc.model.edits.catalogue import hypotheses_of
from quidnunc.model.edits.operators.catalogue import operated
from quidnunc.model.errors import SpecError
from quidnunc.model.machine import protocol_named
from quidnunc.model.rules import Protocol
from quidnunc.properties.bounded import read_toml

AS_BUILT = ":as-built"
OF_CHECK = "gossipsub-1.2"
"""The protocol that a file is of where it is not said."""
MAX_BYTES = 1 << 20
KNOWN = Path("counterexamples") / "routers"


def as_built_named(text: str) -> Protocol:
    """The protocol that is written `ROUTER:as-built`, `PATH.toml:as-built` or `PROTOCOL/ROUTER:as-built`.

    Raises SpecError where there is no such file, or none of its causes is an edit of the protocol.
    """
    name = text.removesuffix(AS_BUILT)
    of, _, router = name.rpartition("/") if not name.endswith(".toml") else ("", "", name)
    path = Path(router) if router.endswith(".toml") else KNOWN / router / "expect.toml"
    if not path.is_file():
        known = sorted(p.parent.name for p in KNOWN.glob("*/expect.toml"))
        raise SpecError(
            f"{text}: there is no {path} (here are {known or 'none'}); "
            f"`quidnunc check {of or OF_CHECK} --against {Path(router).stem} --expect {path} "
            "--update-expect` writes it"
        )
    protocol = protocol_named(of or OF_CHECK)
    edit = edit_as_built(path, protocol)
    if edit is None:
        raise SpecError(f"{text}: no cause in {path} is an edit of {protocol.name}")
    return edit.change(protocol)


def edit_as_built(path: Path, protocol: Protocol) -> Edit | None:
    """All departures that a file names as one edit, in the file's order; None where none is an edit of the
    protocol. Raises SpecError where the file cannot be read."""
    try:
        entries = read_toml(path, MAX_BYTES).get("expect", [])
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise SpecError(f"{path}: not TOML: {error}") from None
    named = (str(each.get("cause", "")) for each in entries if isinstance(each, dict))
    causes = dict.fromkeys(current_name(cause, protocol) for cause in named)
    by_name = {edit.name: edit for edit in hypotheses_of(protocol)}
    by_name |= {name: made.edit for name, made in operated(protocol).items()}
    edits = tuple(by_name[cause] for cause in causes if cause in by_name)
    if not edits:
        return None
    name, says = f"{path.parent.name}{AS_BUILT}", f"All of {', '.join(each.name for each in edits)}."
    return Edit(name, "as-built", "", says, lambda p: edited(p, edits), explains=False)


def routers_as_built(protocol: Protocol) -> dict[str, Protocol]:
    """Every router whose file is at hand, as it would be under `protocol`; those to which no departure fits
    are left out. The files are of pubsub routers, which are no mempool nodes."""
    if protocol.family != protocol_named(OF_CHECK).family:
        return {}
    edits = {path.parent.name: edit_as_built(path, protocol) for path in sorted(KNOWN.glob("*/expect.toml"))}
    return {router: edit.change(protocol) for router, edit in edits.items() if edit is not None}
