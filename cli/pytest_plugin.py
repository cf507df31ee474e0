"""pytest collects `.case` files: each one is replayed and judged by its status.

An open case is a strict expected failure: it is reported as xfailed while the recorded failure occurs, and
fails as soon as it does not. So a fix turns the run red until the status is updated. A case that is fixed, or
that belongs to the suite, must hold.

A comparison of two protocols is a test as well: `--quidnunc-regress OLD NEW FILE` adds one, and the fixture
`quidnunc_regress` makes one of your own tests one.

pytest loads this plugin wherever the kit is installed, so it imports nothing of the kit before it is needed.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from quidnunc.impl.seam import Config
    from quidnunc.properties.cases.outcome import CaseReplay
    from quidnunc.properties.judge.play import WireSubject


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options: the router on which cases are replayed, and comparisons with declared changes."""
    group = parser.getgroup("quidnunc")
    group.addoption(
        "--quidnunc-regress",
        nargs=3,
        action="append",
        metavar=("OLD", "NEW", "FILE"),
        default=[],
        help="add a test that fails on a change in behaviour from OLD to NEW that FILE does not declare, and "
        "on a declared change that does not occur; may be repeated",
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
    """The changes in behaviour from one protocol to another, compared with a file that declares them."""

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
    and on a declared change that does not occur. Without `expect` nothing is declared."""

    def run(old: str, new: str, *, expect: Path | str | None = None, **searched: int) -> None:
        from quidnunc.pytest_regress import regressed

        regressed(old, new, Path(expect) if expect is not None else None, record_property, **searched)

    return run


class CaseFile(pytest.File):
    """One `.case` file. It is read when its item runs, so that a bad file is one failure of its own."""

    def collect(self) -> Iterator[pytest.Item]:
        yield CaseItem.from_parent(self, name="case")


class CaseItem(pytest.Item):
    """The replay of one case, under each of its protocols."""

    def runtest(self) -> None:
        from quidnunc.impl.seam import AdapterError
        from quidnunc.model.errors import CaseError, SpecError
        from quidnunc.properties.cases.case import RefusedRouterError, router_of
        from quidnunc.properties.cases.file import load
        from quidnunc.properties.replays.replay import replay

        against = self.config.getoption("--quidnunc-against")
        router = against
        replayed: list[CaseReplay] = []
        try:
            case = load(self.path, self._within())
            router = against or router_of(case)
            if case.is_network and against:
                skip_absent(against)
            for protocol in case.protocols:
                replayed.append(replay(case, opener_of, against=against, protocol=protocol))
        except RefusedRouterError as error:
            pytest.skip(str(error))
        except (CaseError, SpecError) as error:
            unread = str(error)
        except (AdapterError, ValueError) as error:
            unread = f"{self.path}: {router}: {error}"
        else:
            self._judge(replayed, router, against)
            return
        # Outside the handler, or it would be told twice.
        pytest.fail(unread, pytrace=False)

    def _within(self) -> Path | None:
        """The folder out of which a link may not lead: a file that nobody named may be a stranger's."""
        named = {Path(word.partition("::")[0]).absolute() for word in self.config.args}
        root = self.config.rootpath
        return root if self.path.is_relative_to(root) and self.path not in named else None

    def _judge(self, replayed: Sequence[CaseReplay], router: str, against: str) -> None:
        """The worst outcome is that of the test: what is as expected comes last."""
        for each in sorted(replayed, key=lambda each: each.as_expected):
            if each.case.is_network and against and each.outcome == "inconclusive":
                pytest.skip(f"{against} in the places of its nodes: {each.reason}")
            judge(each, router)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Report an expected failure by its reason alone: a traceback takes ten times as long to format as
        the replay."""
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


def opener_of(router: str) -> Callable[[Config], WireSubject]:
    """Configuration -> `router` as a subject. Skips the test where it cannot be driven here, and says why."""
    from quidnunc.impl.routers import open_router
    from quidnunc.properties.judge.play import WireSubject

    skip_absent(router)
    name = apart(router)
    return lambda config: WireSubject(open_router(name, config), config)


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


def judge(replayed: CaseReplay, router: str) -> None:
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


def advice(replayed: CaseReplay, router: str) -> str:
    """What to do about an outcome that the status of the case does not expect."""
    against = ("--against", router) if router != "model" else ()
    command = shlex.join(("quidnunc", "replay", str(replayed.case.path), *against))
    match replayed.outcome:
        case "fixed":
            return f"No longer reproduces: set the status of the case to fixed. See `{command}`."
        case "different":
            return (
                f"A different failure from the recorded one: see `{command}`; if it is right, add --rewrite."
            )
        case "inconclusive":
            return f"The case was inconclusive: correct its events. See `{command}`."
    return f"See `{command}`."
