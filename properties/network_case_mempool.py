"""Network cases of mempool nodes, and how their acts are written there.

    submit A t1     offer A     deliver A>B     adjust A     leave A     notice A B     join A B,C
    wait A 200ms    say B>A havetx t1

`deliver A>B`: B takes the oldest message of A. `offer A`: A offers the next of its pool. `notice A B`: A
notices that B has left. Behind ` | ` are the choices that were made, in order: `adjust A | B`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from attrs import evolve

from quidnunc.model.errors import SpecError
from quidnunc.model.parameters import DogParameters
from quidnunc.properties import network_lines
from quidnunc.properties.case_parts import Mentions
from quidnunc.properties.case_words import duration_read, duration_text, phrases
from quidnunc.properties.dog_places import revisions
from quidnunc.properties.dog_statement_list import STATEMENTS
from quidnunc.properties.mempool_network_acts import Act, name_of, node_named
from quidnunc.properties.mempool_routers import MempoolRouters, placed
from quidnunc.properties.mempool_search import Look, Move, World
from quidnunc.properties.network_case import Family, NetworkCase
from quidnunc.properties.network_runs import ActError


def _look(case: NetworkCase, protocol: str) -> Look:
    found = network_lines.MEMPOOL.get(case.claim)
    found = found or next((each.look for each in STATEMENTS if each.id == case.claim), None)
    if found is None:
        raise SpecError(f"{case.path}: no claim {case.claim!r} on networks of mempool nodes")
    return found


def _world(case: NetworkCase, protocol: str) -> World:
    known = revisions()
    if protocol not in known or not isinstance(case.parameters, DogParameters):
        raise SpecError(f"{case.path}: {protocol} is no protocol of a mempool that there is a network of")
    return World(evolve(known[protocol].rules, parameters=case.parameters), case.links)


def _placed(case: NetworkCase, protocol: str, router: str, seed: int) -> MempoolRouters:
    return placed(_world(case, protocol), router=router, seed=seed)


def _said(move: Move) -> Iterator[str]:
    for by, part, to in move.sent:
        yield f"{name_of(by)}>{name_of(to)}: {Mentions().part_text(part, Mentions().by_router())}"


# -- acts ---------------------------------------------------------------------------------------------------


def act_text(act: Act) -> str:
    """One act as a line."""
    node, others = name_of(act.node), ",".join(map(name_of, act.peers))
    match act.kind:
        case "U":
            text = f"submit {node} {act.tx}"
        case "R":
            text = f"deliver {others}>{node}"
        case "W":
            text = f"wait {node} {duration_text(act.ms)}"
        case "F":
            assert act.part is not None
            text = f"say {others}>{node} {Mentions().part_text(act.part, Mentions().by_router())}"
        case "L" | "J":
            text = f"{'notice' if act.kind == 'L' else 'join'} {node} {others}"
        case _:
            text = f"{ {'D': 'offer', 'A': 'adjust', 'X': 'leave'}[act.kind] } {node}"
    picked = " ".join(",".join(map(name_of, sorted(each))) or "-" for each in act.picks)
    return f"{text} | {picked}" if picked else text


def _peers(text: str) -> tuple[int, ...]:
    return tuple(map(node_named, text.split(",")))


def _forged(m: re.Match[str]) -> Act:
    (words,) = phrases(m[3])
    part = Mentions().part(words, Mentions().by_router())
    words.end()
    return Act("F", node_named(m[2]), (node_named(m[1]),), part=part)


_FORMS: Mapping[str, Callable[[re.Match[str]], Act]] = {
    r"submit ([A-Z]) (\S+)": lambda m: Act("U", node_named(m[1]), tx=m[2]),
    r"offer ([A-Z])": lambda m: Act("D", node_named(m[1])),
    r"deliver ([A-Z])>([A-Z])": lambda m: Act("R", node_named(m[2]), (node_named(m[1]),)),
    r"adjust ([A-Z])": lambda m: Act("A", node_named(m[1])),
    r"leave ([A-Z])": lambda m: Act("X", node_named(m[1])),
    r"notice ([A-Z]) ([A-Z])": lambda m: Act("L", node_named(m[1]), (node_named(m[2]),)),
    r"join ([A-Z]) ([A-Z](?:,[A-Z])*)": lambda m: Act("J", node_named(m[1]), _peers(m[2])),
    r"wait ([A-Z]) (\S+)": lambda m: Act("W", node_named(m[1]), ms=duration_read(m[2])),
    r"say ([A-Z])>([A-Z]) (.+)": _forged,
}


def act_of(text: str) -> Act:
    """Read one act. Raises ActError that shows the text."""
    said, _, chosen = text.partition(" | ")
    for form, made in _FORMS.items():
        found = re.fullmatch(form, said)
        if found is not None:
            picks = tuple(frozenset(_peers(each)) if each != "-" else frozenset() for each in chosen.split())
            return evolve(made(found), picks=picks)
    raise ActError(f"expected an act such as `submit A t1`, `offer A` or `deliver A>B`, got {text!r}")


def _about(claim: str, protocol: str) -> bool:
    known = revisions().get(protocol)
    if known is not None and claim in network_lines.MEMPOOL:
        return known.family == "dog"
    return known is not None and any(s.id == claim and known.family in s.families for s in STATEMENTS)


FAMILY = Family(
    look=_look,
    world=_world,
    act_text=act_text,
    act_of=act_of,
    said=lambda move: [*_said(move)],
    placed=_placed,
    about=_about,
)
