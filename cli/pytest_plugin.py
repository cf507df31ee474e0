"""pytest collects `.case` files: each one is replayed and judged by its status.

An open case is a strict expected failure: it is reported as xfailed while it departs as recorded, and fails
as soon as it does not, so that a repair turns the run red until the status is updated. A case that is fixed,
or of the suite, must hold.

What changes in behaviour between two protocols is a test as well: `--quidnunc-regress OLD NEW FILE` adds one,
and the fixture `quidnunc_regress` is called in one of yours.

The plugin is loaded in every pytest run where the kit is installed, so nothing of the kit is imported before
it is needed.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from quidnunc.impl.seam import Config
    from quidnunc.properties.cases import Replayed
    from quidnunc.properties.network_case import NetworkCase
    from quidnunc.properties.network_replay import NetworkReplayed
    from quidnunc.properties.play import Wire


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options: against which router cases are replayed, and what is held against a declaration."""
    group = parser.getgroup("quidnunc")
    group.addoption(
        "--quidnunc-regress",
        nargs=3,
        action="append",
        metavar=("OLD", "NEW", "FILE"),
        default=[],
        help="a test that fails on a change in behaviour from OLD to NEW which FILE does not declare, and on "
        "a declared one that did not happen; may be given several times",
    )
    group.addoption(
        "--quidnunc-against",
        metavar="ROUTER",
        default="",
        help="replay every .case against this router instead of the one that it names (`quidnunc routers`)",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    if file_path.suffix != ".case":
        return None
    found: pytest.File = CaseFile.from_parent(parent, path=file_path)
    return found


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    for old, new, expect in config.getoption("--quidnunc-regress"):
        name = f"regress[{old} -> {new}]"
        item: pytest.Item = RegressItem.from_parent(session, name=name, old=old, new=new, expect=Path(expect))
        items.append(item)


class RegressItem(pytest.Item):
    """What changes in behaviour from one protocol to another, held against a file that declares it."""

    def __init__(self, *, old: str, new: str, expect: Path, **rest: Any) -> None:
        super().__init__(**rest)
        self.old, self.new, self.expect = old, new, expect

    def runtest(self) -> None:
        from quidnunc.pytest_regress import regressed

        regressed(self.old, self.new, self.expect, lambda *said: self.user_properties.append(said))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.expect, 0, self.name


@pytest.fixture
def quidnunc_regress(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """`quidnunc_regress(OLD, NEW, expect=FILE)` fails the test on a change in behaviour that is not declared,
    and on a declared one that did not happen. Without `expect` nothing is declared."""

    def run(old: str, new: str, *, expect: Path | str | None = None, **searched: int) -> None:
        from quidnunc.pytest_regress import regressed

        regressed(old, new, Path(expect) if expect is not None else None, record_property, **searched)

    return run


class CaseFile(pytest.File):
    """One `.case` file. It is read when its item runs, so that a bad file is one failure of its own."""

    def collect(self) -> Iterator[pytest.Item]:
        yield CaseItem.from_parent(self, name="case")


class CaseItem(pytest.Item):
    """The replay of one case."""

    def runtest(self) -> None:
        from quidnunc.impl.seam import AdapterError
        from quidnunc.model.errors import CaseError, SpecError
        from quidnunc.properties.cases import replay, router_of
        from quidnunc.properties.network_case import NetworkCase, load_either
        from quidnunc.properties.network_replay import replay_network

        router = self.config.getoption("--quidnunc-against")
        replayed: Replayed | NetworkReplayed
        try:
            case = load_either(self.path)
            if isinstance(case, NetworkCase):
                replayed = self._on_routers(case, router) if router else replay_network(case)
                router = router or case.against
            else:
                router = router or router_of(case)
                replayed = replay(case, opener_of(router))
        except (CaseError, SpecError) as error:
            unread = str(error)
        except (AdapterError, ValueError) as error:
            unread = f"{self.path}: {router}: {error}"
        else:
            judge(replayed, router)
            return
        # Outside the handler, or it would be told twice.
        pytest.fail(unread, pytrace=False)

    def _on_routers(self, case: NetworkCase, router: str) -> NetworkReplayed:
        from quidnunc.properties.network_replay import replay_on

        skip_absent(router)
        found = replay_on(case, router)
        if found.outcome == "inconclusive":
            pytest.skip(f"{router} in the places of its nodes: {found.reason}")
        return found

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """What was expected is told by its reason alone: to look up the lines of a traceback in their files
        takes ten times as long as the replay."""
        if isinstance(excinfo.value, pytest.xfail.Exception):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"case {self.path.name}"


def skip_absent(router: str) -> None:
    """Skip the test where `router` cannot be driven here, and say why."""
    from quidnunc.impl.routers import available

    absent = {info.name: info.reason for info in available() if not info.available}
    if router in absent:
        pytest.skip(f"{router}: {absent[router]}")


def opener_of(router: str) -> Callable[[Config], Wire]:
    """Configuration -> `router` as a subject. Skips the test where it cannot be driven here, and says why."""
    from quidnunc.impl.routers import open_router
    from quidnunc.properties.play import Wire

    skip_absent(router)
    name = apart(router)
    return lambda config: Wire(open_router(name, config), config)


def apart(router: str) -> str:
    """`router`, in a child process with the hash seed of every search where this process has another one.

    Somebody else's router in Python may keep its peers in sets and act in the order of their hashes, so that
    a case departs in one process and not in the next.
    """
    foreign = router == "py-libp2p" or router.startswith("python:")
    # What this process runs with, which its environment may no longer say.
    if not foreign or not sys.flags.hash_randomization:
        return router
    command = ["env", "PYTHONHASHSEED=0", sys.executable, "-m", "quidnunc.impl.sidecar_host", router]
    return f"exec:{shlex.join(command)}"


def judge(replayed: Replayed | NetworkReplayed, router: str) -> None:
    """Pass, xfail or fail the running test by what the status of the case expects."""
    case = replayed.case
    if replayed.outcome == "holds" or (replayed.outcome == "same" and case.status == "observed"):
        return
    if replayed.outcome == "same":
        # Under --runxfail this returns, and an open case is a failure like any other.
        pytest.xfail(f"{case.status}: {replayed.reason}")
    lines = [f"{case.path}: {case.reason}", f"against {router}: {replayed.reason}"]
    if replayed.divergence:
        lines += ["", replayed.divergence]
    pytest.fail("\n".join([*lines, "", f"{advice(replayed, router)}"]), pytrace=False)


def advice(replayed: Replayed | NetworkReplayed, router: str) -> str:
    """What to do about an outcome that the status of the case does not expect."""
    against = ("--against", router) if router != "model" else ()
    command = shlex.join(("quidnunc", "replay", str(replayed.case.path), *against))
    match replayed.outcome:
        case "fixed":
            return f"The router departs no more: update its status to fixed, and see `{command}`."
        case "different":
            return f"Another failure than the recorded one: see `{command}`, and --rewrite if it is right."
        case "inconclusive":
            return f"The case told nothing: mend its events, and see `{command}`."
    return f"See `{command}`."
