"""The clauses that each line of `quidnunc prove` rests on, to be had without proving anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from attrs import frozen

from quidnunc.properties.params.citations import PENALTIES, REWARDS, WEIGHTS


@frozen
class ProofCitation:
    """Lines of `prove`, by the pattern of what decides them and by what follows its name."""

    prover: str
    line: str
    """Empty for all lines that no other row is about."""
    clauses: tuple[str, ...]

    def covers(self, name: str, prover: str) -> bool:
        """Whether the line is one of these, or a variation of one: `idle.components` is one of `idle`."""
        rest = name.removeprefix(prover).removeprefix(".")
        return fnmatchcase(prover, self.prover) and (not self.line or f"{rest}.".startswith(f"{self.line}."))


def _rows(prover: str, *lines: tuple[str, tuple[str, ...]]) -> Iterator[ProofCitation]:
    return (ProofCitation(prover, line, clauses) for line, clauses in lines)


MUTUAL = ("gs1.0/mesh.mutual", "gs1.0/graft.accept", "gs1.0/prune.remove")
BACKOFF = ("gs1.1/backoff.both-ends", "gs1.1/backoff.regraft")
TOLD_TO_LEAVE = ("gs1.1/graft.unknown-topic", "pubsub/subscription.table")
CUT, FILL = "gs1.0/heartbeat.cut", "gs1.0/heartbeat.fill"
OPPORTUNISTIC = "gs1.1/opportunistic.graft"
GOSSIPED = ("gs1.0/gossip.targets", "gs1.0/gossip.outside-mesh", "gs1.0/ihave.request-unseen")
RETAINED = ("gs1.1/score.retain", "gs1.1/score.retain-statistics")
ROUTES = ("dog/route.filter", "dog/havetx.first-sender")
REPAIR = ("dog/controller.reset", "dog/reset.one")

CITATIONS: tuple[ProofCitation, ...] = (
    *_rows("mesh-link", ("", (*MUTUAL, "gs1.0/graft.unsubscribed"))),
    *_rows("mesh-link-backoff-waits", ("", (*MUTUAL, *BACKOFF, *TOLD_TO_LEAVE, "gs1.1/backoff.resubscribe"))),
    *_rows("mesh-link-backoff-announced", ("", (*MUTUAL, *BACKOFF, *TOLD_TO_LEAVE))),
    *_rows("mesh-link-backoff-unsub", ("", (*MUTUAL, *BACKOFF, *TOLD_TO_LEAVE))),
    *_rows("mesh-link-backoff-silent", ("", (*MUTUAL, *BACKOFF, "gs1.1/graft.unknown-topic"))),
    *_rows("mesh-link-backoff*", ("", (*MUTUAL, *BACKOFF))),
    *_rows(
        "mesh-degree",
        ("1.0.ceiling", (CUT,)),
        *((f"{version}.floor", (FILL,)) for version in ("1.0", "1.1", "1.1-go")),
        *((f"{version}.no-churn", ("gs1.0/heartbeat.no-churn",)) for version in ("1.0", "1.1", "1.1-go")),
        *((f"{version}.ceiling", (CUT, OPPORTUNISTIC)) for version in ("1.1", "1.1-go")),
        *(
            (f"{version}.ceiling-with-quota", (CUT, "gs1.1/outbound.fill", OPPORTUNISTIC))
            for version in ("1.1", "1.1-go")
        ),
        *((f"{version}.quota-passes", (CUT, "gs1.1/outbound.fill")) for version in ("1.1", "1.1-go")),
        *(
            (f"{version}.quota", ("gs1.1/outbound.fill", "gs1.1/outbound.cut-quota"))
            for version in ("1.1", "1.1-go")
        ),
    ),
    *_rows(
        "mesh-star-inbound*",
        ("ceiling", (CUT, "gs1.1/outbound.inbound-refused")),
        ("admits", ("gs1.0/graft.accept", "gs1.1/outbound.inbound-refused")),
    ),
    *_rows(
        "mesh-star*",
        ("ceiling", (CUT, "gs1.0/graft.accept")),
        ("admits", ("gs1.0/graft.accept",)),
        ("", (CUT, FILL)),
    ),
    *_rows("mesh-flow-gossip*", ("", ("gs1.0/relay.mesh", *GOSSIPED))),
    *_rows("mesh-flow*", ("", ("gs1.0/relay.mesh",))),
    *_rows("backoff-arithmetic", ("", ("gs1.1/backoff.announced-period",))),
    *_rows(
        "dog-routes*",
        ("progress", ("dog/reset.none",)),
        ("not-cut-off", ROUTES),
        ("route-reset", REPAIR),
    ),
    *_rows(
        "dog-cut-off*",
        ("target-0.in-the-end", (*REPAIR, "dog/config.target")),
        ("relay-leaves.asks-who-is-there", ("dog/peer.adjust-at-loss", "dog/peer.reset-not-to-lost")),
        ("relay-leaves.at-rest", (*ROUTES, "dog/peer.forget-routes")),
        ("relay-leaves.in-the-end", (*REPAIR, "dog/peer.adjust-at-loss")),
        ("source-leaves.back-is-open", ("dog/havetx.first-sender-gone",)),
        ("own.reset-opens", ("dog/reset.one", "dog/havetx.self-route")),
        ("own.is-offered", ("flood/submit.to-all", "dog/send.own-unfiltered")),
        ("at-rest", ROUTES),
        ("in-the-end", REPAIR),
        ("in-the-end-alone", REPAIR),
    ),
    *_rows(
        "dog-controller*",
        ("bounds", ("dog/config.bounds",)),
        ("floats", ("dog/config.bounds",)),
        ("rounding", ("dog/config.bounds",)),
        ("one-thing", ("dog/controller.reset", "dog/controller.unblock")),
        ("asks", ("dog/controller.reset", "dog/controller.ratio")),
        ("upper-bound", ("dog/controller.unblock",)),
        ("above-target", ("dog/controller.unblock", "dog/controller.in-band")),
        ("duplicates-alone", ("dog/controller.ratio", "dog/controller.unblock")),
        ("idle", ("dog/controller.idle",)),
    ),
    *_rows(
        "idontwant-forged-draft", ("", ("gs1.2-draft/idontwant.may-skip", "gs1.2-draft/idontwant.per-peer"))
    ),
    *_rows("idontwant-forged-checked", ("", ("gs1.2/idontwant.skip", "pubsub/signing.reject"))),
    *_rows("idontwant-forged-content", ("", ("gs1.2/idontwant.skip", "pubsub/id.supplied"))),
    *_rows("idontwant-forged-gossip", ("", ("gs1.2/idontwant.skip", *GOSSIPED))),
    *_rows("idontwant-forged", ("", ("gs1.2/idontwant.skip", "gs1.2/idontwant.per-peer"))),
    *_rows("idontwant-codec", ("", ("gs1.2/rpc.idontwant-field", "gs1.2-draft/rpc.idontwant-field"))),
    *_rows(
        "scores-*",
        ("no-shadowing", WEIGHTS),
        ("punished", PENALTIES),
        ("good-is-good", REWARDS),
        ("fair", WEIGHTS),
    ),
    *_rows(
        "score-algebra",
        ("upper-bound", (*WEIGHTS, *REWARDS)),
        ("invalid-never-helps", ("gs1.1/score.invalid-messages",)),
        ("delivery-never-hurts", ("gs1.1/score.first-deliveries", "gs1.1/score.mesh-deliveries")),
        ("clean-is-not-negative", PENALTIES[:3]),
        ("silence-is-free", ("gs1.1/score.decay", "gs1.1/score.mesh-deliveries")),
        ("", ("gs1.1/score.decay",)),
    ),
    *_rows(
        "score-retention",
        ("member", (*RETAINED, "gs1.1/score.mesh-failures")),
        ("silence", (*RETAINED, "gs1.1/score.mesh-deliveries")),
        ("decays-away", (*RETAINED, "gs1.1/score.decay")),
        ("", RETAINED),
    ),
)
"""The first row that covers a line says what it rests on."""


def clauses_of_line(name: str, prover: str) -> tuple[str, ...]:
    """What a line of `prover` rests on; empty where no row is about it."""
    return next((row.clauses for row in CITATIONS if row.covers(name, prover)), ())


def lines_of(prover: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(line, clauses) of what `prover` decides, as far as rows tell lines apart."""
    seen: set[str] = set()
    for row in CITATIONS:
        name = f"{prover}.{row.line}" if row.line else prover
        if fnmatchcase(prover, row.prover) and name not in seen:
            seen.add(name)
            yield name, row.clauses
            if not row.line:
                return


def lines_on(clauses: Iterable[str], provers: Iterable[str]) -> tuple[str, ...]:
    """The lines that rest on any of `clauses`."""
    wanted = set(clauses)
    return tuple(name for each in provers for name, cited in lines_of(each) if wanted & set(cited))
