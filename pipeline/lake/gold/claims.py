"""The claims over traces: what each asks, what it needs of a trace, and how it is decided.

They are claims of the kit, by its names, as far as a trace can decide them. A claim declares its needs;
what a run's schema and manifest say grants or denies them, and what is denied is inconclusive, by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from attrs import frozen

from quidnunc.model.machine import PROTOCOLS
from quidnunc.model.parameters import DogParameters, Parameters
from quidnunc.model.rules import Protocol
from quidnunc.pipeline.lake.silver.schema import RowKind
from quidnunc.pipeline.trace.shapes import TraceError
from quidnunc.properties.claims.catalogue import claims_of
from quidnunc.properties.claims.catalogue import clauses_asked as clauses_asked_of
from quidnunc.properties.claims.tables import ALL

Need: TypeAlias = Literal[
    "complete", "deliveries", "rpcs", "times", "mesh", "both ends", "one clock", "backoff values", "routes"
]
Tier: TypeAlias = Literal["relational", "replay", "edge"]

WHY: Mapping[Need, str] = {
    "complete": "needs a complete trace, and this one is {completeness}",
    "deliveries": "needs deliveries, and there are none",
    "rpcs": "needs what is in RPCs, and there are none",
    "times": "needs times, and no event has one",
    "mesh": "needs GRAFT and PRUNE events, and there are none",
    "both ends": "needs the traces of both ends of a link, and there is one peer",
    "one clock": "needs one clock for all peers, or --set skew_ms=N: how far theirs may be apart",
    "backoff values": "needs the backoffs of PRUNEs, or --set prune_backoff_s=N: that of the routers",
    "routes": "needs events on the routes of DOG, and there are none",
}


DISORDERED = "disordered"
"""The completeness of a trace whose events are not in order, or there twice."""

DAMAGED = "damaged"
"""The completeness of a trace with events that nobody may have written: a compressed file is corrupt."""

_DOUBTS: Mapping[str, str] = {
    DISORDERED: "needs events in order and once, and some are not, as `quidnunc ingest` says",
    DAMAGED: "needs events as they were written, and a file fails its checksum, as `quidnunc ingest` says",
}
"""Completeness -> why no claim at all can be decided on such a trace."""

ONE_CLOCK = frozenset({"one", "harness", "simulation"})
"""What a manifest says of clocks, where all peers have the same."""


@frozen(kw_only=True)
class TraceSettings:
    """What claims and metrics take for granted about the routers of a trace. Defaults are the
    specifications', and where they give none, ours."""

    seen_ttl_ms: int = Parameters().seen_ttl_ms
    idontwant_window_ms: int = Parameters().heartbeat_interval_ms
    """How long after an IDONTWANT it must be heeded, where heartbeats are not traced. go keeps it for
    three."""
    prune_backoff_s: float | None = None
    """Of PRUNEs that do not say it."""
    mesh_settle_ms: int = Parameters().heartbeat_interval_ms
    """How long one end of a link may hold it alone."""
    reach_ms: int = Parameters().mcache_len * Parameters().heartbeat_interval_ms
    """How long before and after a publication a subscriber has to stay to count on the message. Routers
    keep it in their caches for so long."""
    skew_ms: int | None = None
    """How far clocks of different peers may be apart; added to what compares them."""
    adjust_interval_ms: int = DogParameters().adjust_interval_ms
    timer_slack_ms: int = 50
    """How much too early a timer may be."""
    target_redundancy: float = DogParameters().target_redundancy
    delta_percent: float = DogParameters().delta_percent

    def texts(self) -> dict[str, object]:
        """For the braces of queries."""
        skew_ms = self.skew_ms or 0
        band = self.target_redundancy * self.delta_percent / 100
        return {
            "seen_ttl_ns": self.seen_ttl_ms * 1_000_000,
            "idontwant_window_ns": self.idontwant_window_ms * 1_000_000,
            "prune_backoff_s": "CAST(NULL AS DOUBLE)"
            if self.prune_backoff_s is None
            else f"{self.prune_backoff_s}e0",
            "mesh_settle_us": (self.mesh_settle_ms + skew_ms) * 1000,
            "reach_ns": (self.reach_ms + skew_ms) * 1_000_000,
            "skew_ns": skew_ms * 1_000_000,
            "adjust_interval_ns": max(0, self.adjust_interval_ms - self.timer_slack_ms) * 1_000_000,
            "redundancy_low": f"{self.target_redundancy - band}e0",
            "redundancy_high": f"{self.target_redundancy + band}e0",
        }

    def changed(self, said: Iterable[str]) -> TraceSettings:
        """With `name=value` of each of `said`. Raises TraceError."""
        import attrs

        changes: dict[str, Any] = {}
        names = {a.name: str(a.type) for a in attrs.fields(TraceSettings)}
        for each in said:
            name, _, value = each.partition("=")
            if name not in names:
                raise TraceError(f"--set {each}: no setting {name!r}; there are {', '.join(names)}")
            try:
                changes[name] = float(value) if "float" in names[name] else int(value)
                if not 0 <= changes[name] < 10**9:
                    raise ValueError
            except ValueError:
                raise TraceError(f"--set {each}: expected a number from 0 to a thousand million") from None
        return attrs.evolve(self, **changes)


@frozen(kw_only=True)
class TraceClaim:
    """One claim over traces; its queries are in `sql/claims.sql`."""

    id: str
    clause: str
    says: str
    tier: Tier
    family: Literal["pubsub", "mempool"] = "pubsub"
    in_mempools: str = ""
    """The clause under which the same is asked of a mempool; empty where nothing of the kind is."""
    needs: frozenset[Need]
    witness: str
    """The violation in words, with its columns by name."""
    promised: bool = True
    """Whether a document promises it, so that a router that departs is at fault. Else it is only counted."""


CLAIMS: tuple[TraceClaim, ...] = (
    TraceClaim(
        id="deliver.once",
        clause="floodsub/deliver.once",
        says="A message is delivered once.",
        in_mempools="flood/receive.duplicate",
        tier="relational",
        needs=frozenset({"deliveries"}),
        witness="delivered {message} again, which it had at {cause}",
    ),
    TraceClaim(
        id="deliver.published-first",
        clause="pubsub/publish.seqno",
        says="A message is published before others deliver it: no two messages have one id.",
        tier="relational",
        needs=frozenset({"deliveries", "times", "one clock", "complete"}),
        witness="delivered {message} of {remote} {us} before it was published",
    ),
    TraceClaim(
        id="deliver.to-all",
        clause="gs1.0/relay.mesh",
        says="A message reaches every subscriber who stayed.",
        in_mempools="flood/send.once",
        tier="relational",
        needs=frozenset({"deliveries", "times", "one clock", "complete"}),
        witness="never got {message} of topic {topic}, although it stayed; it was due from {remote}",
        promised=False,
    ),
    TraceClaim(
        id="relay.not-back",
        clause="floodsub/relay.not-back",
        says="A message does not go back to the one who forwarded it.",
        in_mempools="flood/send.not-to-senders",
        tier="relational",
        needs=frozenset({"deliveries", "rpcs", "complete"}),
        witness="sent {message} to {remote}, of whom it had come at {cause}",
    ),
    TraceClaim(
        id="relay.once",
        clause="gs1.0/relay.seen",
        says="A message is forwarded once to a peer.",
        tier="relational",
        needs=frozenset({"rpcs", "complete"}),
        witness="sent {message} to {remote} again, after {cause}",
    ),
    TraceClaim(
        id="idontwant.honoured",
        clause="gs1.2/idontwant.skip",
        says="Who said IDONTWANT is skipped in relay to the mesh.",
        tier="relational",
        needs=frozenset({"rpcs", "times", "complete"}),
        witness="sent {message} to {remote}, who had said IDONTWANT at {cause}, {us} before",
    ),
    TraceClaim(
        id="ihave.requested",
        clause="gs1.0/ihave.request-unseen",
        says="Only what a peer advertised is requested of it.",
        tier="relational",
        needs=frozenset({"rpcs", "complete"}),
        witness="asked {remote} for {message}, which it had not advertised",
    ),
    TraceClaim(
        id="backoff.no-graft",
        clause="gs1.1/backoff.both-ends",
        says="Neither end grafts inside a backoff.",
        tier="relational",
        needs=frozenset({"rpcs", "times", "backoff values"}),
        witness="grafted {remote} in {topic}, {us} before the end of the backoff of {cause}",
    ),
    TraceClaim(
        id="mesh.mutual",
        clause="gs1.0/mesh.mutual",
        says="A link of a mesh is held by both ends.",
        tier="relational",
        needs=frozenset({"mesh", "both ends", "one clock", "times", "complete"}),
        witness="held {remote} in its mesh of {topic} for {us} while {remote} did not hold it",
    ),
    TraceClaim(
        id="send.once-to-others",
        clause="flood/send.once",
        says="A transaction is sent once to a peer.",
        tier="relational",
        family="mempool",
        needs=frozenset({"rpcs", "complete"}),
        witness="sent transaction {message} to {remote} again, after {cause}",
    ),
    TraceClaim(
        id="havetx.reply",
        clause="dog/havetx.to-sender",
        says="HaveTx answers a copy of the transaction, and goes to who sent that.",
        tier="relational",
        family="mempool",
        needs=frozenset({"rpcs", "complete"}),
        witness="said HaveTx of {message} to {remote}, who had not sent it",
    ),
    TraceClaim(
        id="controller.resets-when-low",
        clause="dog/controller.reset",
        says="At most one ResetRoute is sent in an interval of the controller.",
        tier="relational",
        family="mempool",
        needs=frozenset({"rpcs", "times", "complete"}),
        witness="sent ResetRoute to {remote} {us} after the one at {cause}, within one interval",
    ),
    TraceClaim(
        id="reset.one",
        clause="dog/reset.one",
        says="A ResetRoute enables one route to its sender.",
        tier="relational",
        family="mempool",
        needs=frozenset({"rpcs", "routes", "complete"}),
        witness="enabled more routes to {remote} than it had asked for",
    ),
)


def denial_reason(
    claim: TraceClaim, granted: frozenset[Need], completeness: str, *, prunes: bool = True
) -> str:
    """Why a claim cannot be decided on a trace that grants so much; empty where it can. `prunes`: whether its
    RPCs have a PRUNE."""
    if completeness in _DOUBTS:
        return f"{_DOUBTS[completeness]} (to decide all the same: --completeness full)"
    lacking = sorted(claim.needs - granted)
    if lacking == ["backoff values"] and not prunes:
        # To say how long backoffs are would not help.
        return "never applied: no PRUNE"
    return "; ".join(WHY[need].format(completeness=completeness) for need in lacking)


@frozen(kw_only=True)
class RunFacts:
    """What is known of one run before a claim is asked of it."""

    completeness: str
    clock: str
    types: frozenset[int]
    """The types of events in it."""
    observers: int
    times: bool
    backoffs: bool


MEMPOOL_TYPES = frozenset({105, 106, 107, 113})
MEMPOOL_KINDS = frozenset(
    {RowKind.HAVE_TX, RowKind.RESET_ROUTE, RowKind.TXS, RowKind.SEEN_TX, RowKind.WANT_TX}
)
PUBSUB_TYPES = frozenset({11, 12})
"""Of a mesh. What is published, delivered, repeated or joined a mempool tells in the same events."""
PUBSUB_KINDS = frozenset(
    {RowKind.MESSAGE, RowKind.IHAVE, RowKind.IWANT, RowKind.IDONTWANT, RowKind.GRAFT, RowKind.PRUNE}
)


def families(counts: Iterable[tuple[int, int]]) -> frozenset[str]:
    """Which protocols a trace is of, by the types and kinds of its rows; pubsub where nothing in it tells."""
    found = set()
    for type, kind in counts:
        if type in MEMPOOL_TYPES or kind in MEMPOOL_KINDS:
            found.add("mempool")
        if type in PUBSUB_TYPES or kind in PUBSUB_KINDS:
            found.add("pubsub")
    return frozenset(found or {"pubsub"})


def protocols_named(manifest: Mapping[str, Any]) -> frozenset[str]:
    """The protocols of the nodes of a run, as its manifest names them; none where it does not, or where one
    is not known here."""
    kinds = manifest.get("kinds")
    inits = [k.get("init") for k in kinds if isinstance(k, dict)] if isinstance(kinds, list) else []
    found = {str(init.get("protocol")) for init in inits if isinstance(init, dict)}
    return frozenset(found) if found <= PROTOCOLS.keys() else frozenset()


def clause_asked(claim: TraceClaim, protocol: Protocol) -> str:
    """The clause by which a claim is asked of a protocol; empty where it is not."""
    clause = claim.clause if protocol.family == claim.family else claim.in_mempools
    if not claim.promised:
        # What is only counted is counted of all.
        return clause
    if protocol.family == claim.family and claim.id not in {each.id for each in ALL}:
        # Of several nodes: no rule of one of them decides it.
        return clause if "mesh" not in claim.needs or "graft" in protocol.handlers else ""
    asked = {each for of in claims_of(protocol) for each in clauses_asked_of(of, protocol)}
    return clause if clause in asked else ""


def clauses_of_trace(protocols: Iterable[str], there: frozenset[str]) -> dict[str, str]:
    """Claim -> the clause by which it is asked of a trace, of those that are.

    `protocols` are those that the trace names. A trace that names none is asked all claims of the families
    that are seen in it.
    """
    named = [PROTOCOLS[name] for name in sorted(protocols)]
    found = {}
    for claim in CLAIMS:
        if named:
            clauses = [clause for protocol in named if (clause := clause_asked(claim, protocol))]
        else:
            clauses = [claim.clause] if claim.family in there else [claim.in_mempools]
        # Of a trace of both families it is the claim's own.
        clause = claim.clause if claim.clause in clauses else next(iter(clauses), "")
        if clause:
            found[claim.id] = clause
    return found


def granted_needs(run: RunFacts, settings: TraceSettings) -> frozenset[Need]:
    """What a run and the settings grant."""
    told: dict[Need, bool] = {
        "complete": run.completeness == "full",
        "deliveries": 3 in run.types,
        "rpcs": bool(run.types & {6, 7}),
        "times": run.times,
        "mesh": bool(run.types & {11, 12}),
        "both ends": run.observers > 1,
        "one clock": run.clock in ONE_CLOCK or settings.skew_ms is not None,
        "backoff values": run.backoffs or settings.prune_backoff_s is not None,
        "routes": bool(run.types & {105, 106}),
    }
    return frozenset(need for need, there in told.items() if there)
