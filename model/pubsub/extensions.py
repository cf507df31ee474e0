"""Extensions: what each end says of itself at the head of a stream. gossipsub v1.3; the test extension."""

from __future__ import annotations

from quidnunc.model.choices import Choose
from quidnunc.model.events import Sent
from quidnunc.model.permits import Permit, Step, must_send
from quidnunc.model.pubsub.router import Neighbour, ReceivedPart, Router
from quidnunc.model.pubsub.scores import events as scores_events
from quidnunc.model.pubsub.step import run
from quidnunc.model.rpc import PARTIAL_EXTENSION, TEST_EXTENSION, Extensions, Part, Peer, TestExtension
from quidnunc.model.rules import rule
from quidnunc.model.values import evolve


def own_extensions(r: Router) -> tuple[str, ...]:
    """The names of those that the router has, in their order."""
    found = [PARTIAL_EXTENSION] if "partial" in r.protocol.handlers else []
    if r.parameters.test_extension:
        found.append(TEST_EXTENSION)
    return tuple(sorted(found))


# -- at the head of a stream --------------------------------------------------------------------------------


@rule(
    "gs1.3/extensions.first-rpc",
    lacking="Does not name its extensions in its first RPC.",
    when="it names its extensions to a new peer",
)
def name_extensions(r: Router, peer: Peer, choose: Choose) -> Step[Router] | None:
    """Who has extensions names them first of all."""
    own = own_extensions(r)
    if not own or not r.peers[peer].knows_extensions:
        return None
    return Step(r, must_send([peer], Extensions(own), "gs1.3/extensions.first-rpc"))


@rule(
    "gs1.3/extensions.none-omitted",
    lacking="Sends no Extensions message when it has no extensions.",
    when="it tells a new peer that it has no extensions",
)
def name_none(r: Router, peer: Peer, choose: Choose) -> Step[Router] | None:
    """Who has none may say so or leave it."""
    if own_extensions(r) or not r.peers[peer].knows_extensions:
        return None
    permit = Permit(Sent(peer, Extensions()), False, "gs1.3/extensions.none-omitted")
    return Step(r, (permit,))


# -- what a peer names --------------------------------------------------------------------------------------


@rule(
    "gs1.3/extensions.described",
    lacking="Ignores the extensions that a peer names.",
    when="it reads the extensions that a peer names",
)
def read_extensions(r: Router, rpc: ReceivedPart[tuple[Part, ...]], choose: Choose) -> Step[Router] | None:
    """What the sender says that it supports; before anything else of the RPC, which may rest on it."""
    parts = [part for part in rpc.part if isinstance(part, Extensions)]
    if not parts:
        return None
    misused = r.parameters.scores is not None and (r.peers[rpc.peer].spoke or len(parts) > 1)
    found: Step[Router] = Step(scores_events.count(r, "misuse", rpc.peer) if misused else r)
    for name in (name for part in parts for name in part.names):
        found = found.then(run(found.router, "extension", ReceivedPart(rpc.peer, name), choose))
    return found


@rule(
    "gs1.3/extensions.unknown-ignored",
    lacking="Heeds extensions that it does not have itself.",
    when="it disregards an extension that it does not have itself",
)
def unknown(r: Router, e: ReceivedPart[str], choose: Choose) -> Step[Router] | None:
    """What we do not have ourselves means nothing to us."""
    return Step(r) if e.part not in own_extensions(r) else None


@rule(
    "gs1.3/extensions.not-below",
    lacking="Heeds extensions that a peer names on a stream below 1.3.",
    when="it disregards extensions that a peer names on a stream below 1.3",
)
def on_older_stream(r: Router, e: ReceivedPart[str], choose: Choose) -> Step[Router] | None:
    """Below 1.3 the message has no meaning; whether it is heeded there is not said."""
    return None if r.peers[e.peer].knows_extensions else _perhaps(r, e)


@rule(
    "gs1.3/extensions.misuse",
    lacking="Heeds extensions that a peer names late or twice.",
    when="it disregards extensions that a peer names late or twice",
)
def named_late(r: Router, e: ReceivedPart[str], choose: Choose) -> Step[Router] | None:
    """In a later RPC, or once more: what follows is left open."""
    return _perhaps(r, e) if r.peers[e.peer].spoke else None


@rule(
    "gs1.3/extensions.described",
    lacking="Does not note the extensions that a peer names.",
    when="it notes an extension that a peer names",
)
def note_extension(r: Router, e: ReceivedPart[str], choose: Choose) -> Step[Router]:
    peer = r.peers[e.peer]
    noted = evolve(peer, extensions=peer.extensions | {e.part})
    return run(evolve(r, peers={**r.peers, e.peer: noted}), "both_have", e, choose)


@rule(
    "gs1.3/test.exchanged",
    lacking="Sends no TestExtension to a peer that has named it.",
    when="it sends TestExtension to a peer that has named it",
)
def send_test(r: Router, e: ReceivedPart[str], choose: Choose) -> Step[Router] | None:
    """Each end sends one TestExtension where both have named it."""
    if e.part != TEST_EXTENSION:
        return None
    owed = e.part in r.peers[e.peer].extensions
    return Step(r, (Permit(Sent(e.peer, TestExtension()), owed, "gs1.3/test.exchanged"),))


def _perhaps(r: Router, e: ReceivedPart[str]) -> Step[Router]:
    """It may count or not, for what it is worth: the test message too is then free, once."""
    peer = r.peers[e.peer]
    if e.part in peer.extensions | peer.perhaps:
        return Step(r)
    unsure = evolve(peer, perhaps=peer.perhaps | {e.part})
    r = evolve(r, peers={**r.peers, e.peer: unsure})
    free = Permit(Sent(e.peer, TestExtension()), False, "gs1.3/test.exchanged")
    return Step(r, (free,) if e.part == TEST_EXTENSION else ())


def has_extension(peer: Neighbour, name: str) -> bool | None:
    """Whether the peer has the extension; None where that is not said."""
    return True if name in peer.extensions else None if name in peer.perhaps else False
