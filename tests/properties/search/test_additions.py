"""A router as shipped: what it adds to the protocol is told from what it does wrong, by switching it off."""

from __future__ import annotations

from fnmatch import fnmatch

import attrs
from attrs import evolve

from quidnunc.impl.routers import open_router
from quidnunc.impl.seam import Config, Hello
from quidnunc.model.parameters import Parameters
from quidnunc.properties.cases.file import parse
from quidnunc.properties.cases.router import replay_router
from quidnunc.properties.documents.clauses import load
from quidnunc.properties.judge.play import WireSubject
from quidnunc.properties.search.leaning import LIFTED, READ_BY, leaning
from quidnunc.properties.search.machine import FindingSearch, search
from quidnunc.properties.search.worker import answer_of

OWN = {"echo": "copies of messages to who sent them", "nothing": "a thing that does not show"}


def opener(config: Config) -> WireSubject:
    """Our router, which as shipped echoes; the other addition is without effect."""
    echoes = config.extras and "echo" not in config.without
    driver = open_router("ours:echo" if echoes else "ours", config)
    driver.hello = evolve(
        driver.hello, name="added", additions=OWN, switched={"it fixes a thing": ("floodsub/relay.*",)}
    )
    return WireSubject(driver, config)


def hello() -> Hello:
    subject = opener(Config(protocol="floodsub", parameters=Parameters()))
    subject.close()
    return subject.hello


def hunted(profile: str) -> tuple[FindingSearch, dict[str, object]]:
    hunt = FindingSearch("floodsub", opener, hello(), profile=profile)
    search(hunt, runs=15, seed=1)
    asked = {"protocol": "floodsub", "against": "python:x:y", "profile": profile}
    return hunt, answer_of(asked, hunt, hunt.hello)


def test_a_departure_is_put_down_to_the_addition_that_it_goes_with() -> None:
    hunt, answer = hunted("shipped")
    (root,) = answer["roots"]
    assert (root["quirk"], root["kind"]) == ("adds:echo", "addition")
    assert root["says"] == "Adds copies of messages to who sent them."
    # It is off in the rest of the search, which goes on without it, and the other one stays on.
    assert hunt.without == ("echo",) and answer["without"] == ["echo"]
    case = parse(root["case"])
    assert (case.profile, case.without) == ("shipped", ())
    assert replay_router(case, opener).outcome == "same"
    assert replay_router(evolve(case, profile="spec"), opener).outcome == "fixed"
    assert replay_router(evolve(case, without=("echo",)), opener).outcome == "fixed"


def test_by_the_spec_there_is_nothing_to_find() -> None:
    hunt, answer = hunted("spec")
    assert answer["roots"] == [] and hunt.without == () and hunt.departed == 0


def test_what_departs_without_additions_too_is_put_down_to_none() -> None:
    def always(config: Config) -> WireSubject:
        subject = opener(evolve(config, profile="shipped", without=()))
        return subject

    hunt = FindingSearch("floodsub", always, hello(), profile="shipped")
    search(hunt, runs=15, seed=1)
    assert hunt.found and not hunt.without
    assert not [cause for _, cause in hunt.found if cause.startswith("adds:")]


def test_a_verdict_says_what_of_the_driver_it_leans_on() -> None:
    fixed = {"max_ihave_messages": 10, "max_ihave_length": LIFTED, "d_lazy": 6}
    switched = {"it switches off a queue": ("gs1.1/ihave.*", "gs1.0/relay.*")}
    assert leaning(("gs1.1/ihave.caps",), fixed, switched) == (
        "max_ihave_length: the driver lifts this limit",
        "the driver sets max_ihave_messages to 10",
        "it switches off a queue",
    )
    assert leaning(("gs1.0/relay.seen",), fixed, switched) == ("it switches off a queue",)
    assert leaning(("gs1.0/graft.accept",), fixed, switched) == ()


def test_parameters_and_clauses_that_lean_are_known() -> None:
    assert set(READ_BY) <= {a.name for a in attrs.fields(Parameters)}
    clauses = load()
    for pattern in (p for patterns in READ_BY.values() for p in patterns):
        assert any(fnmatch(clause, pattern) for clause in clauses), pattern


def test_one_addition_is_found_where_another_fault_shows_without_all_of_them() -> None:
    """Mutant: all are switched off first, and what departs then is put down to none."""

    def faulty(config: Config) -> WireSubject:
        off = {"echo", "nothing"} <= {*config.without} or not config.extras
        name = "ours:forward-to-author" if off else "ours:echo" if "echo" not in config.without else "ours"
        driver = open_router("ours:echo" if off else name, config)
        driver.hello = evolve(driver.hello, name="added", additions=OWN)
        return WireSubject(driver, config)

    subject = faulty(Config(protocol="floodsub", parameters=Parameters()))
    subject.close()
    hunt = FindingSearch("floodsub", faulty, subject.hello, profile="shipped")
    search(hunt, runs=15, seed=1)
    assert hunt.without == ("echo",) and [found.addition for found in hunt.found.values()] == ["echo"]
