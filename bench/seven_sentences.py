"""Seven sentences: ours in a long search, and what comes of a router that breaks each.

    python bench/seven_sentences.py --runs 10000             ours, and what breaks each
    python bench/seven_sentences.py --runs 10000 --journal J goes on where it was stopped

Six are claims of `quidnunc check`, so ours is searched under the protocols of the six, as many runs of each.
The seventh is about a queue. No event shows one: to a peer that does not read, an answer that waits and one
that was sent look alike. It is asked of our router's own queue, in random runs. Ends with 1 where ours fails,
or what breaks a sentence is not found to.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest import mock

from attrs import frozen

from quidnunc.impl.gossipsub.outbox import Outbox
from quidnunc.impl.gossipsub.router import GossipsubRouter
from quidnunc.impl.wire.codec import Codec
from quidnunc.impl.wire.framing import FrameDecoder, frame
from quidnunc.model.events import MESHSUB_1_2
from quidnunc.model.parameters import Parameters
from quidnunc.model.rpc import IDontWant, IWant, Message, Part, Peer
from quidnunc.properties.search.campaign import Campaign
from quidnunc.properties.search.verdicts import verdicts_of
from quidnunc.properties.sources import SEARCHED, digest_of_sources

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tools.nightly import campaigns, carry_out, plan  # noqa: E402

MUTANT_RUNS = 400
BROKEN = ("fails", "deviates")
"""The verdicts on what breaks a sentence; `deviates` where it says SHOULD."""
ASKING = (1, 2)
"""The peers that ask and do not read."""
AUTHOR: Peer = 3
IDS = tuple(f"m{n}" for n in range(1, 7))


@frozen
class Sentence:
    """A claim, the protocol it is searched under, and a mutant of ours that breaks it."""

    says: str
    claim: str
    protocol: str
    mutant: str


SENTENCES = (
    Sentence("IHAVE goes to a random subset of peers", "gossip.targets", "gossipsub-1.0", "gossip-silent"),
    Sentence("IHAVE is answered in any topic", "ihave.any-topic", "gossipsub-1.2", "ihave-own-topics"),
    Sentence("Old IDONTWANTs are pruned", "idontwant.forgotten", "gossipsub-1.2", "idontwant-for-ever"),
    Sentence("IDONTWANTs are capped", "idontwant.capped", "gossipsub-1.2", "idontwant-cap-on-rpcs"),
    Sentence("IDONTWANT goes to all mesh peers", "idontwant.immediate", "gossipsub-1.2", "idontwant-to-one"),
    Sentence("No DOG message goes to a peer without DOG", "dog.mixed", "dog", "dog-told-to-all"),
)
PROTOCOLS = tuple(dict.fromkeys(each.protocol for each in SENTENCES))


# -- six claims ----------------------------------------------------------------------------------------------


def searched(runs: int, journal: Path, workers: int | None) -> Mapping[str, Campaign]:
    """Ours under each of the protocols."""
    batches = plan(PROTOCOLS, runs * len(PROTOCOLS), 0, digest_of_sources(SEARCHED))
    total, done = sum(each.runs for each in batches), 0
    answers = []
    for batch, answer in carry_out(batches, journal, workers=workers):
        done += batch.runs
        print(f"{done} of {total} runs", file=sys.stderr, flush=True)
        answers.append((batch, answer))
    return campaigns(answers, PROTOCOLS, 0)


def of_ours(sentence: Sentence, campaign: Campaign) -> tuple[str, int]:
    """The verdict, and how often the claim applied."""
    (found,) = verdicts_of(campaign, sentence.claim)
    return found.verdict, found.applied


def of_mutant(sentence: Sentence) -> str:
    """The verdict on a router that breaks it."""
    against = f"ours:{sentence.mutant}"
    asked = ["check", sentence.protocol, "--against", against, "--claims", sentence.claim]
    command = [sys.executable, "-m", "quidnunc", *asked, "--runs", str(MUTANT_RUNS), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    (claim,) = json.loads(done.stdout)["claims"]
    return str(claim["verdict"])


# -- the queue -----------------------------------------------------------------------------------------------


def queue_run(seed: int) -> int:
    """One random run of two peers that ask, do not read, and take back; how many answers were taken back.

    Raises AssertionError where a peer that reads again gets other answers than are still asked for.
    """
    draw, codec = random.Random(seed), Codec(Parameters())
    router = GossipsubRouter(Parameters())
    router.join("t1")
    for peer in (*ASKING, AUTHOR):
        router.connect(peer, MESHSUB_1_2, outbound=True)

    def said(peer: Peer, part: Part) -> None:
        router.receive(peer, frame(codec.encode([part], sender=peer)))

    for each in IDS:
        said(AUTHOR, Message(each, "t1", AUTHOR))
    router.take()
    for peer in ASKING:
        router.stall(peer)
    waiting: dict[Peer, list[str]] = {peer: [] for peer in ASKING}
    taken_back = 0
    for _ in range(draw.randint(2, 12)):
        peer, each = draw.choice(ASKING), draw.choice(IDS)
        if each in waiting[peer]:
            said(peer, IDontWant((each,)))
            waiting[peer].remove(each)
            taken_back += 1
        else:
            said(peer, IWant((each,)))
            waiting[peer].append(each)
    for peer in ASKING:
        router.resume(peer)
        payloads = [p for _, data in router.take().frames for p in FrameDecoder().feed(data)[0]]
        parts = [part for payload in payloads for part in codec.decode(payload)]
        got = [part.id for part in parts if isinstance(part, Message)]
        assert got == waiting[peer], f"seed {seed}, peer {peer}: sent {got}, asked for {waiting[peer]}"
    return taken_back


def queue_runs(runs: int) -> tuple[str, int]:
    """The verdict on ours, and how many answers were taken back."""
    try:
        return "not-refuted", sum(map(queue_run, range(runs)))
    except AssertionError as error:
        print(error, file=sys.stderr)
        return "fails", 0


def of_mutant_queue(runs: int) -> str:
    """The verdict on a router that takes nothing back."""
    with mock.patch.object(Outbox, "withdraw", lambda self, peer, message: None):
        return queue_runs(runs)[0]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="of each protocol (default 1000)")
    parser.add_argument("--journal", type=Path, default=ROOT / ".quidnunc" / "seven_sentences.jsonl")
    parser.add_argument("--workers", type=int, help="default: one per core")
    options = parser.parse_args(arguments)
    found = searched(options.runs, options.journal, options.workers)
    print("| sentence | claim | runs | applied | ours | broken by | verdict |")
    print("|---|---|---:|---:|---|---|---|")
    as_due = True
    for each in SENTENCES:
        campaign = found[each.protocol]
        (ours, applied), broken = of_ours(each, campaign), of_mutant(each)
        as_due = as_due and ours == "not-refuted" and broken in BROKEN and applied > 0
        runs = f"{campaign.runs}, {each.protocol}"
        print(f"| {each.says} | `{each.claim}` | {runs} | {applied} | {ours} | `{each.mutant}` | {broken} |")
    (ours, applied), broken = queue_runs(options.runs), of_mutant_queue(options.runs)
    as_due = as_due and ours == "not-refuted" and broken in BROKEN and applied > 0
    queue = f"A queued answer to IWANT is removed | `iwant.withdrawn` | {options.runs}, the queue alone"
    print(f"| {queue} | {applied} | {ours} | takes nothing back | {broken} |")
    return 0 if as_due else 1


if __name__ == "__main__":
    sys.exit(main())
