"""What `quidnunc regress` makes of thirty single edits, one command each: found, and in how many seconds.

    python bench/regress_edits.py             the table, as Markdown
    python bench/regress_edits.py seen-slides fanout-ttl
    python bench/regress_edits.py unseen      ten more, for which the search was not made
    python bench/regress_edits.py later       another ten, written when the search stood

Twenty are about time, counters and bounds. An edit is a parameter, or a rule of `bench/edited_protocols.py`.
A run that takes more than a minute counts as not found.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
LIMIT_S = 60


def own(name: str) -> str:
    return f"python:edited_protocols:{name}"


EDITS: Mapping[str, tuple[str, str]] = {
    # Time.
    "seen-slides": ("gossipsub-1.0", own("SEEN_SLIDES")),
    "seen-ttl": ("gossipsub-1.0", "gossipsub-1.0+seen_ttl_ms=121000"),
    "fanout-from-creation": ("gossipsub-1.0", own("FANOUT_FROM_CREATION")),
    "fanout-ttl": ("gossipsub-1.2", "gossipsub-1.2+fanout_ttl_ms=61000"),
    "fanout-at-ttl": ("gossipsub-1.1", own("FANOUT_AT_TTL")),
    "prune-backoff": ("gossipsub-1.1", "gossipsub-1.1+prune_backoff_s=61"),
    "unsubscribe-backoff": ("gossipsub-1.1", "gossipsub-1.1+unsubscribe_backoff_s=11"),
    "regraft-not-extended": ("gossipsub-1.1", own("REGRAFT_NOT_EXTENDED")),
    "grafts-a-second-early": ("gossipsub-1.1", own("GRAFTS_A_SECOND_EARLY")),
    "idontwant-longer": ("gossipsub-1.2", own("IDONTWANT_LONGER")),
    "cat-waits-longer": ("cat", own("CAT_WAITS_LONGER")),
    # Counters and bounds.
    "opportunistic-ticks": ("gossipsub-1.1", "gossipsub-1.1+opportunistic_graft_ticks=61"),
    "mcache-len": ("gossipsub-1.0", "gossipsub-1.0+mcache_len=6"),
    "mcache-gossip": ("gossipsub-1.0", "gossipsub-1.0+mcache_gossip=4"),
    "ihave-messages": ("gossipsub-1.1", "gossipsub-1.1+max_ihave_messages=11"),
    "ihave-length": ("gossipsub-1.1", "gossipsub-1.1+max_ihave_length=5001"),
    "ihaves-over-two": ("gossipsub-1.1", own("IHAVES_OVER_TWO")),
    "ihave-rpcs-uncounted": ("gossipsub-1.1", own("IHAVE_RPCS_UNCOUNTED")),
    "answers-without-end": ("gossipsub-1.1", own("ANSWERS_WITHOUT_END")),
    "cuts-at-d-high": ("gossipsub-1.0", own("CUTS_AT_D_HIGH")),
    "fills-at-d-low": ("gossipsub-1.0", own("FILLS_AT_D_LOW")),
    "too-little-at-bound": ("dog", own("TOO_LITTLE_AT_BOUND")),
    "duplicates-go-on": ("dog", own("DUPLICATES_GO_ON")),
    "dog-delta": ("dog", "dog+delta_percent=11"),
    # The rest.
    "unblocks-in-band": ("dog", own("UNBLOCKS_IN_BAND")),
    "fanout-is-told": ("gossipsub-1.0", own("FANOUT_IS_TOLD")),
    "graylists-explicit": ("gossipsub-1.1", own("GRAYLISTS_EXPLICIT")),
    "cuts-last-sender": ("dog", own("CUTS_LAST_SENDER")),
    "enables-none": ("dog", own("ENABLES_NONE")),
    "keeps-routes": ("dog", own("KEEPS_ROUTES")),
}
"""Name -> OLD and NEW."""

UNSEEN: Mapping[str, tuple[str, str]] = {
    "floodsub-seen-ttl": ("floodsub", "floodsub+seen_ttl_ms=121000"),
    "group-ttl": ("partial-messages", "partial-messages+group_ttl_heartbeats=6"),
    "heartbeat-interval": ("gossipsub-1.0", "gossipsub-1.0+heartbeat_interval_ms=1001"),
    "idontwant-messages": ("gossipsub-1.2", "gossipsub-1.2+max_idontwant_messages=1001"),
    "retransmission": ("gossipsub-1.1", "gossipsub-1.1+gossip_retransmission=4"),
    "opportunistic-peers": ("gossipsub-1.1", "gossipsub-1.1+opportunistic_graft_peers=3"),
    "d-out": ("gossipsub-1.1", "gossipsub-1.1+d_out=1"),
    "d-score": ("gossipsub-1.1", "gossipsub-1.1+d_score=5"),
    "publish-threshold": ("gossipsub-1.1", "gossipsub-1.1+publish_threshold=-21"),
    "d-lazy": ("gossipsub-1.0", "gossipsub-1.0+d_lazy=5"),
}
"""Written after the search, which was made with the thirty in view, and not made for these."""
LATER: Mapping[str, tuple[str, str]] = {
    # Time.
    "shifts-every-other": ("gossipsub-1.0", own("SHIFTS_EVERY_OTHER")),
    "announced-backoff-less": ("gossipsub-1.1", own("BACKS_OFF_A_SECOND_LESS")),
    "turn-waits-anew": ("cat", own("WAITS_FOR_TURN_ANEW")),
    # Counters and bounds.
    "graylists-at-threshold": ("gossipsub-1.1", own("GRAYLISTS_AT_THRESHOLD")),
    "gossip-threshold": ("gossipsub-1.1", "gossipsub-1.1+gossip_threshold=-11"),
    "d-high": ("gossipsub-1.0", "gossipsub-1.0+d_high=13"),
    "cat-announced": ("cat", "cat+max_announced_peers=14"),
    "own-uncounted": ("dog", own("COUNTS_PEERS_ALONE")),
    # Sets.
    "gossip-to-mesh": ("gossipsub-1.0", "gossipsub-1.0+without:in_mesh_or_fanout"),
    "fanout-not-refilled": ("gossipsub-1.0", "gossipsub-1.0+without:refill"),
}
"""Written from the documents as a third set, with the search as it stood, and asked once."""
ALL = {**EDITS, **UNSEEN, **LATER}
SETS = {"unseen": UNSEEN, "later": LATER}


KINDS = {
    "seen-slides": "time",
    "opportunistic-ticks": "counter or bound",
    "unblocks-in-band": "other",
    "floodsub-seen-ttl": "time",
    "idontwant-messages": "counter or bound",
    "shifts-every-other": "time",
    "graylists-at-threshold": "counter or bound",
    "gossip-to-mesh": "set",
}
"""The first edit of each part -> what the part is about."""


def kind_of(name: str) -> str:
    """Time, counter or bound, set, or other."""
    names = list(ALL)
    return next(KINDS[each] for each in reversed(names[: names.index(name) + 1]) if each in KINDS)


def measured(name: str) -> tuple[str, float, str]:
    """What came of one edit, the wall seconds, and the events of the traces."""
    began = time.monotonic()
    command = [sys.executable, "-m", "quidnunc", "regress", *ALL[name], "--json"]
    try:
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=10 * LIMIT_S)
    except subprocess.TimeoutExpired:
        return "not finished", time.monotonic() - began, ""
    wall = time.monotonic() - began
    if done.returncode not in (0, 1, 3):
        return f"status {done.returncode}: {done.stderr.strip().splitlines()[-1]}", wall, ""
    found = json.loads(done.stdout)["changes"]
    if found:
        events = ", ".join(str(each["events"]) for each in found)
        return ", ".join(each["direction"] for each in found), wall, events
    return "inconclusive" if done.returncode == 3 else "no change found", wall, ""


def main() -> int:
    names = [name for each in sys.argv[1:] for name in SETS.get(each, [each])] or list(EDITS)
    print("| edit | about | found | events | wall, s |\n|---|---|---|---:|---:|")
    separated = 0
    for name in names:
        found, wall, events = measured(name)
        separated += found.startswith("newly") and wall <= LIMIT_S
        print(f"| `{name}` | {kind_of(name)} | {found} | {events} | {wall:.0f} |", flush=True)
    print(f"\n{separated} of {len(names)} are separated within {LIMIT_S} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
