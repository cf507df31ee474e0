"""quidnunc replay: play case files to a router beside the model, and say whether they still depart."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from quidnunc.asked import checked_protocol
from quidnunc.impl.seam import AdapterError
from quidnunc.model.errors import CaseError
from quidnunc.model.machine import protocol_named
from quidnunc.output import UsageError, clear_progress, print_json, progress_line
from quidnunc.properties.cases import Case, Replayed, render, replay, router_of
from quidnunc.properties.network_case import NetworkCase, load_either, render_network
from quidnunc.properties.network_replay import NetworkReplayed, network_data, replay_network, replay_on

EXAMPLE = """\
example:
  quidnunc replay found/gs1.1.backoff.regraft.case
  quidnunc replay counterexamples/ --against py-libp2p
  quidnunc replay counterexamples/mesh-link --against ours

exit status:
  0 no case departs; 1 a case departs; 2 wrong usage; 3 no case departs and some told nothing;
  4 the driver or this tool broke
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="case files, or folders of them")
    parser.add_argument("--against", metavar="ROUTER", help="instead of the router that each case names")
    parser.add_argument("--protocol", metavar="P", help="judge by this protocol instead of the case's own")
    parser.add_argument("--rewrite", action="store_true", help="write the outputs into the files anew")
    parser.add_argument("--emit", choices=["json"], help="print each case, as replayed, as data")


@frozen
class Tried:
    """One case and what came of it: a replay, or why there was none."""

    case: Case | NetworkCase
    router: str
    replayed: Replayed | NetworkReplayed | None = None
    broken: str = ""
    rewritten: bool = False


def run(options: argparse.Namespace) -> int:
    tried = [_try(case, options) for case in _cases(options, progress_line())]
    clear_progress()
    if options.json or options.emit:
        print_json({"schema": 1, "replays": [as_json(each, data=bool(options.emit)) for each in tried]})
    else:
        _print(tried, options)
    if any(t.replayed is not None and t.replayed.departs for t in tried):
        return 1
    if any(t.replayed is None for t in tried):
        return 4
    return 3 if any(t.replayed is not None and t.replayed.outcome == "inconclusive" for t in tried) else 0


def _cases(options: argparse.Namespace, show: Any) -> Sequence[Case | NetworkCase]:
    """Every case that is asked for. Raises UsageError where there is none, CaseError for a bad one."""
    paths: list[Path] = []
    for path in options.paths:
        if path.is_dir():
            inside = sorted(path.rglob("*.case"))
            if not inside:
                raise UsageError(f"{path} holds no .case file")
            paths += inside
        elif path.exists():
            paths.append(path)
        else:
            raise UsageError(f"{path} does not exist; `quidnunc check ... --cases DIR` writes cases")
    if options.protocol:
        checked_protocol(options.protocol)
    cases = [load_either(path) for path in paths]
    for case in cases:
        _check(case, options)
    show(f"replaying {len(cases)} cases")
    return cases


def _check(case: Case | NetworkCase, options: argparse.Namespace) -> None:
    if options.protocol:
        asked, own = protocol_named(options.protocol).family, protocol_named(case.protocol).family
        if asked != own:
            raise UsageError(
                f"{case.path} is of a {own} protocol ({case.protocol}), {options.protocol} is not"
            )
    named = "" if isinstance(case, NetworkCase) else router_of(case)
    if options.rewrite and (options.protocol or (options.against or named) != named):
        raise UsageError(
            f"{case.path} is about {case.against} under {case.protocol}: --rewrite would write of another; "
            "leave out --against and --protocol, or change its front matter"
        )


def _try(case: Case | NetworkCase, options: argparse.Namespace) -> Tried:
    from quidnunc.properties.worker import opener_of

    if isinstance(case, NetworkCase):
        return _try_network(case, options)
    router = options.against or router_of(case)
    rules = protocol_named(options.protocol) if options.protocol else None
    try:
        replayed = replay(case, opener_of(router), rules)
    except AdapterError as error:
        return Tried(case, router, broken=str(error))
    except CaseError:
        raise
    except ValueError as error:
        # No such router; what can not be put into bytes is a CaseError.
        raise UsageError(f"{case.path}: {error}") from None
    rewritten = options.rewrite and _rewrite(case.path, render(replayed.rewritten))
    return Tried(case, router, replayed, rewritten=rewritten)


def _try_network(case: NetworkCase, options: argparse.Namespace) -> Tried:
    if not options.against:
        found = replay_network(case, options.protocol or "")
        rewritten = options.rewrite and _rewrite(case.path, render_network(found.rewritten))
        return Tried(case, case.against, found, rewritten=rewritten)
    try:
        return Tried(case, options.against, replay_on(case, options.against, options.protocol or ""))
    except AdapterError as error:
        return Tried(case, options.against, broken=str(error))
    except ValueError as error:
        raise UsageError(f"{case.path}: {error}") from None


def _rewrite(name: str, text: str) -> bool:
    """Whether the file had to change."""
    path = Path(name)
    if path.read_text(encoding="utf-8") == text:
        return False
    path.write_text(text, encoding="utf-8")
    print(f"rewrote {path}", file=sys.stderr)
    return True


def _print(tried: Sequence[Tried], options: argparse.Namespace) -> None:
    print(f"replay of {len(tried)} case{'s' if len(tried) != 1 else ''}")
    for each in tried:
        replayed = each.replayed
        if replayed is None:
            print(f"\n{each.case.path} against {each.router}: broken\n  {each.broken}")
            continue
        print(f"\n{each.case.path} against {each.router}: {replayed.outcome}")
        print(f"  {each.case.reason}")
        print(f"  {replayed.reason}")
        for line in replayed.divergence.splitlines():
            print(f"    {line}")
    counts: dict[str, int] = {}
    for each in tried:
        outcome = each.replayed.outcome if each.replayed else "broken"
        counts[outcome] = counts.get(outcome, 0) + 1
    print(f"\n{', '.join(f'{number} {outcome}' for outcome, number in sorted(counts.items()))}")
    print(f"again: {_again(options)}")


def _again(options: argparse.Namespace) -> str:
    words = ["quidnunc", "replay", *map(str, options.paths)]
    words += ["--against", options.against] if options.against else []
    words += ["--protocol", options.protocol] if options.protocol else []
    return shlex.join(words)


def as_json(tried: Tried, *, data: bool) -> dict[str, Any]:
    """The outcome of one replay and, where `data` is asked for, the case as data."""
    case, replayed = tried.case, tried.replayed
    found: dict[str, Any] = {
        "path": case.path,
        "against": tried.router,
        "protocol": case.protocol,
        "claim": case.claim,
        "clause": case.clause,
        "quirk": case.quirk,
        "status": case.status,
        "outcome": replayed.outcome if replayed else "broken",
        "as_expected": replayed is not None and replayed.as_expected,
        "departs": replayed is not None and replayed.departs,
        "reason": replayed.reason if replayed else tried.broken,
        "at": replayed.at if replayed else None,
        "divergence": replayed.divergence if replayed else "",
        "rewritten": tried.rewritten,
    }
    if data and isinstance(replayed, NetworkReplayed):
        found["case"] = network_data(replayed.rewritten)
    elif data and isinstance(replayed, Replayed):
        from quidnunc.properties.export import case_data

        found["case"] = case_data(replayed.rewritten)
    return found
