"""A directory that grows, as a stream of files: Structured Streaming says which are new, and remembers.

Only paths pass through it; what is in a file is read by the workers. A batch that was cut off comes again,
and what it left behind is found by the stages, so no file is lost or counted twice. Writers rename into
place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from quidnunc.pipeline.trace.files import by_name, is_side_file, is_unfinished

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES_AT_ONCE = 10_000


def each_batch(
    session: SparkSession, folder: Path, checkpoint: Path, take: Callable[[Sequence[Path]], None]
) -> None:
    """Call `take` with the files of `folder` that no earlier call for this checkpoint was done with."""
    problems: list[BaseException] = []

    def batch(frame: Any, number: int) -> None:
        paths = [_path(row["path"]) for row in frame.select("path").collect()]
        wanted = sorted((p for p in paths if not is_side_file(p) and not is_unfinished(p)), key=by_name)
        try:
            if wanted:
                take(wanted)
        except Exception as error:
            # What is raised in a stream comes back as text; this is what the caller is to see.
            problems.append(error)
            raise

    stream = (
        session.readStream.format("binaryFile")
        .schema("path STRING, modificationTime TIMESTAMP, length LONG, content BINARY")
        .option("maxFilesPerTrigger", FILES_AT_ONCE)
        .load(str(folder))
        .select("path")
        .writeStream.foreachBatch(batch)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        stream.awaitTermination()
    except Exception:
        if problems:
            raise problems[0] from None
        raise


def _path(url: str) -> Path:
    return Path(unquote(urlparse(url).path))
