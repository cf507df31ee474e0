"""Whether something comes about in every fair run of a network: strongly connected components, by hand.

A run that never ends stays, from some point on, in one strongly connected component of what is reachable. It
is fair where every group of rules that fairness speaks of has its share: a weakly fair group is taken, or is
not enabled throughout; a strongly fair one is taken, or is not enabled for ever. A component in which all
groups have their share, and what is asked for does not come about, refutes it: with a run to it, and a loop.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from attrs import field, frozen

from quidnunc.model.errors import SpecError
from quidnunc.properties.solver.interpret import State, compiled_expression, interpreter
from quidnunc.properties.solver.rules import Expression, NetworkModel

MAX_STATES = 60_000

Step: TypeAlias = tuple[int, int]
"""(number of the rule, number of the next state)."""


@frozen(kw_only=True)
class FairnessCondition:
    """Rules of which one is taken again and again."""

    name: str
    rules: frozenset[int]
    strong: bool = False
    """It is enough that one is enabled again and again; otherwise one must be enabled without end."""


@frozen(kw_only=True, eq=False)
class StateGraph:
    """All reachable states of a small network, by number, and the steps between them."""

    network: NetworkModel
    states: Sequence[State]
    steps: Sequence[tuple[Step, ...]]
    places: Mapping[str, int]
    before: Sequence[tuple[int, int]] = field(repr=False)
    """Per state, the one before it on a shortest run from the start, and the rule; (-1, -1) at the start."""

    def where(self, expression: Expression) -> frozenset[int]:
        """The states in which `expression` holds."""
        value = compiled_expression(expression, dict(self.places))
        return frozenset(n for n, state in enumerate(self.states) if value(state))

    def rules(self, matches: Callable[[str], bool]) -> frozenset[int]:
        """The numbers of the rules whose kind matches."""
        return frozenset(n for n, rule in enumerate(self.network.rules) if matches(rule.kind))

    def run_to(self, state: int) -> list[int]:
        """The rules of a shortest run from the start."""
        found: list[int] = []
        while self.before[state][0] >= 0:
            state, rule = self.before[state]
            found.append(rule)
        return found[::-1]


def graph_of(network: NetworkModel) -> StateGraph:
    """Every reachable state. Raises SpecError where there are more than `MAX_STATES`."""
    steps = interpreter(network)
    numbers: dict[State, int] = {steps.start(): 0}
    states = [steps.start()]
    before: list[tuple[int, int]] = [(-1, -1)]
    found: list[tuple[Step, ...]] = []
    for at, state in enumerate(states):
        next_steps = []
        for rule, after in steps.enabled(state):
            if after not in numbers:
                if len(states) == MAX_STATES:
                    raise SpecError(f"{network.name} has more than {MAX_STATES} states, too many for loops")
                numbers[after] = len(states)
                states.append(after)
                before.append((at, rule))
            next_steps.append((rule, numbers[after]))
        found.append(tuple(next_steps))
    places = {f.name: i for i, f in enumerate(network.fields)}
    return StateGraph(network=network, states=states, steps=found, places=places, before=before)


@frozen(kw_only=True)
class Lasso:
    """A fair run for ever: rules up to the loop, and those of the loop. An empty loop: nothing is enabled."""

    stem: tuple[int, ...]
    loop: tuple[int, ...]


def fair_loop(
    graph: StateGraph,
    *,
    fair: Sequence[FairnessCondition],
    within: frozenset[int],
    allowed: frozenset[int],
    hits: frozenset[int],
    avoided: frozenset[Step] | Callable[[int, Step], bool] = frozenset(),
) -> Lasso | None:
    """A fair run that stays in `within` by `allowed` rules for ever, and is in `hits` again and again.

    Or one that ends there, since none of them is enabled. The way to `within` may take any rule.

    `avoided` says which steps (state, step) it does not take either; fairness counts them as enabled.
    """
    refused = avoided if callable(avoided) else (lambda at, step: step in avoided)
    kept = {
        at: tuple(s for s in graph.steps[at] if s[0] in allowed and s[1] in within and not refused(at, s))
        for at in within
    }
    enabled = {at: frozenset(rule for rule, _ in graph.steps[at] if rule in allowed) for at in within}
    ended = [at for at in within & hits if not enabled[at]]
    if ended:
        # A run that cannot go on is over with what it has.
        return Lasso(stem=tuple(graph.run_to(min(ended))), loop=())
    pending = [set(within)]
    while pending:
        for component in _components(pending.pop(), kept):
            if not component & hits:
                continue
            outcome = _judged(component, kept, enabled, fair)
            if outcome is None:
                return _lasso(graph, component, kept, fair, hits)
            if outcome:
                pending.append(outcome)
    return None


def _components(among: set[int], kept: Mapping[int, tuple[Step, ...]]) -> list[frozenset[int]]:
    """Strongly connected components with a step inside, and states that nothing leads out of."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[frozenset[int]] = []
    for root in among:
        if root in index:
            continue
        work: list[tuple[int, int]] = [(root, 0)]
        while work:
            at, place = work.pop()
            if place == 0:
                index[at] = low[at] = len(index)
                stack.append(at)
                on_stack.add(at)
            targets = [to for _, to in kept[at] if to in among]
            if place < len(targets):
                work.append((at, place + 1))
                to = targets[place]
                if to not in index:
                    work.append((to, 0))
                elif to in on_stack:
                    low[at] = min(low[at], index[to])
                continue
            for to in targets:
                if to in on_stack:
                    low[at] = min(low[at], low[to])
            if low[at] == index[at]:
                component = set()
                while True:
                    top = stack.pop()
                    on_stack.discard(top)
                    component.add(top)
                    if top == at:
                        break
                found.append(frozenset(component))
    return [c for c in found if _lasts(c, kept)]


def _lasts(component: frozenset[int], kept: Mapping[int, tuple[Step, ...]]) -> bool:
    return any(to in component for at in component for _, to in kept[at])


def _judged(
    component: frozenset[int],
    kept: Mapping[int, tuple[Step, ...]],
    enabled: Mapping[int, frozenset[int]],
    fair: Sequence[FairnessCondition],
) -> set[int] | None:
    """None where every group has its share; otherwise what of the component may still hold a fair run."""
    inside = {rule for at in component for rule, to in kept[at] if to in component}
    for group in fair:
        if group.rules & inside:
            continue
        ready = {at for at in component if enabled[at] & group.rules}
        if group.strong and ready:
            return set(component) - ready
        if not group.strong and len(ready) == len(component):
            return set()
    return None


def _lasso(
    graph: StateGraph,
    component: frozenset[int],
    kept: Mapping[int, tuple[Step, ...]],
    fair: Sequence[FairnessCondition],
    hits: frozenset[int],
) -> Lasso:
    """A run to the component, and a loop through what gives every group its share."""
    start = min(component & hits, key=lambda at: (len(graph.run_to(at)), at))
    loop: list[int] = []
    at = start
    for group in fair:
        steps = [(a, s) for a in component for s in kept[a] if s[0] in group.rules and s[1] in component]
        if steps:
            path, at = _walk(kept, component, at, lambda a, s=steps: any(a == x for x, _ in s))  # type: ignore[misc]
            rule, to = next(step for a, step in steps if a == at)
            loop += [*path, rule]
            at = to
        else:
            enabled = {a for a in component if any(rule in group.rules for rule, _ in graph.steps[a])}
            path, at = _walk(kept, component, at, lambda a, e=enabled: a not in e)  # type: ignore[misc]
            loop += path
    path, at = _walk(kept, component, at, lambda a: a == start, least=0 if loop else 1)
    return Lasso(stem=tuple(graph.run_to(start)), loop=(*loop, *path))


def _walk(
    kept: Mapping[int, tuple[Step, ...]],
    component: frozenset[int],
    start: int,
    ends: Callable[[int], bool],
    least: int = 0,
) -> tuple[list[int], int]:
    """The rules of a shortest walk inside the component to a state that `ends`, and that state."""
    if not least and ends(start):
        return [], start
    came: dict[int, tuple[int, int]] = {}
    queue = deque([start])
    while queue:
        at = queue.popleft()
        for rule, to in kept[at]:
            if to not in component or to in came:
                continue
            came[to] = (at, rule)
            if ends(to):
                return _back(came, start, to), to
            queue.append(to)
    return [], start


def _back(came: Mapping[int, tuple[int, int]], start: int, end: int) -> list[int]:
    rules: list[int] = []
    at = end
    while not rules or at != start:
        at, rule = came[at]
        rules.append(rule)
    return rules[::-1]


def holds_in(
    graph: StateGraph, lasso: Lasso, fair: Iterable[FairnessCondition], allowed: frozenset[int]
) -> bool:
    """Whether a lasso is a run of the network whose loop closes, and every group has its share in it.

    Written apart from the search: it steps the rules of the lasso one by one. With an empty loop, whether no
    rule that is allowed is enabled at the end.
    """
    at, visited = 0, []
    for number, rule in enumerate((*lasso.stem, *lasso.loop)):
        if number == len(lasso.stem):
            entered = at
        following = [to for r, to in graph.steps[at] if r == rule]
        if not following:
            return False
        if number >= len(lasso.stem):
            visited.append(at)
        at = following[0]
    if not lasso.loop:
        return not any(rule in allowed for rule, _ in graph.steps[at])
    if at != entered:
        return False
    for group in fair:
        ready = [any(rule in group.rules for rule, _ in graph.steps[state]) for state in visited]
        due = any(ready) if group.strong else all(ready)
        if due and not group.rules & set(lasso.loop):
            return False
    return True


def told(network: NetworkModel, lasso: Lasso, most: int | None = None) -> str:
    """A lasso in words; of its loop the first `most` steps."""
    stem, loop = ([network.spoken(network.rules[r]) for r in rules] for rules in (lasso.stem, lasso.loop))
    shown = loop[:most]
    rest = f"; and {len(loop) - len(shown)} more" if len(loop) > len(shown) else ""
    return f"{'; '.join(stem) or 'from the start'}; then for ever: {'; '.join(shown) or 'nothing'}{rest}"
