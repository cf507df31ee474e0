"""Made-up networks as landing folders and as silver, for the tests of the pipeline."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from bench.synthetic import CLEAN, Faults, Network, peer_id, write_dog, write_files
from quidnunc.pipeline.lake.engines.embedded import EmbeddedEngine
from quidnunc.pipeline.lake.gold.claims import TraceSettings
from quidnunc.pipeline.lake.gold.witness import peer_text
from quidnunc.pipeline.lake.ingest import SourceOptions, find, manifest_of, to_silver
from quidnunc.pipeline.lake.run_folder import RunFolder

SETTINGS = TraceSettings(prune_backoff_s=60, idontwant_window_ms=3000)
ASKED = SourceOptions(clock="one", buckets=3, settings=SETTINGS)
SAID = ("--clock", "one", "--buckets", "3", "--set", "prune_backoff_s=60", "--set=idontwant_window_ms=3000")
"""The same, to `quidnunc ingest`."""
FEW = Faults(idontwant=7, one_sided=5, echoes=4, backoff=2, twice=3)


@frozen
class Landing:
    """A folder of traces, and the faults in them: (claim, peer), peers as witnesses name them."""

    folder: Path
    faults: list[tuple[str, str]]


def land(folder: Path, *, faulty: bool, files: int = 3) -> Landing:
    """A network of 30 peers and 12 messages, and a small one of DOG, with faults or without."""
    network = Network(peers=30, messages=12, degree=6, seconds=120, faults=FEW if faulty else CLEAN)
    write_files(network.make(), folder, files)
    place = write_dog(folder / "zdog.jsonl", peers=4, fault=faulty)
    expected = [*network.expected, *([place] if place else [])]
    return Landing(folder, sorted((claim, peer_text(peer_id(peer))) for claim, peer, _ in expected))


def silver_of(landing: Path, root: Path, asked: SourceOptions = ASKED) -> Path:
    """The silver of a landing folder, made in this process."""
    run = RunFolder(root)
    with run.locked():
        manifest = to_silver(run, find([landing], run), asked, EmbeddedEngine().tasks)
    return run.silver(manifest["silver"])


def left_out_of(root: Path) -> dict[str, tuple[str, str]]:
    """What a manifest says of the files that were not taken, by their names."""
    out = manifest_of(RunFolder(root))["left_out"]
    return {Path(path).name: (why["state"], why["reason"]) for path, why in out.items()}
