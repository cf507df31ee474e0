"""The languages in which findings are told, by the router that they are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

from quidnunc.impl.seam import AdapterError, NotBuiltError
from quidnunc.properties.cases.case import Case, RefusedRouterError, router_of
from quidnunc.reports.reproductions import go, javascript, python
from quidnunc.reports.reproductions.recorded import NoReproductionError


@frozen
class ReproductionLanguage:
    """Of one router: how its findings are told, and in which file."""

    name: str
    """As Markdown calls it."""
    file: str
    text_of: Callable[[Case], str]
    command_of: Callable[[Case], str]
    """What runs the test, from the folder in which the file is."""
    place: str
    """Where the file is to be, with `{version}` for the release."""

    def place_for(self, case: Case) -> str:
        """Where the file of a case is to be."""
        return self.place.format(version=case.against.partition(" ")[2])


LANGUAGES: Mapping[str, ReproductionLanguage] = {
    "py-libp2p": ReproductionLanguage(
        "python", python.FILE, python.reproduction_of, python.command_of, python.PLACE
    ),
    "go-libp2p-pubsub": ReproductionLanguage(
        "go", go.FILE, go.GO_LIBP2P.reproduction_of, go.command_of, go.GO_LIBP2P.place
    ),
    "cometbft": ReproductionLanguage(
        "go", go.FILE, go.COMETBFT.reproduction_of, go.command_of, go.COMETBFT.place
    ),
    "js-libp2p": ReproductionLanguage(
        "javascript", javascript.FILE, javascript.reproduction_of, javascript.command_of, javascript.PLACE
    ),
}


def language_of(case: Case) -> ReproductionLanguage:
    """The language of the router of a case. Raises NoReproductionError where there is none."""
    try:
        router = "" if case.is_network else router_of(case)
    except RefusedRouterError:
        raise NoReproductionError("it is of a router of your own, of which no test is written") from None
    if router not in LANGUAGES:
        about = "a case of a network" if case.is_network else f"a case of {router}"
        raise NoReproductionError(
            f"no test can be made for {about} yet; for those of {', '.join(LANGUAGES)} one can"
        )
    return LANGUAGES[router]


def reproduction_of(case: Case) -> str:
    """The finding as a test. Raises NoReproductionError where none can be made here, and says why."""
    try:
        return language_of(case).text_of(case)
    except (AdapterError, NotBuiltError, ValueError) as error:
        raise NoReproductionError(str(error)) from None
