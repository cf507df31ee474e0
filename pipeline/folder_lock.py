"""One writer a folder: a lock that goes with its process, however that ends, and leaves no file."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked_folder(folder: Path, error: type[Exception]) -> Iterator[None]:
    """Nobody else writes to `folder` within; it is made if it is not there.

    Raises `error` where somebody does, and where it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as problem:
        said = "is not a directory" if folder.exists() and not folder.is_dir() else problem.strerror
        raise error(f"{folder}: {said}; name another with -o") from None
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Who held the lock before may have renamed what was opened here.
            busy = not os.path.samestat(os.fstat(held), folder.stat())
        except OSError:
            busy = True
        if busy:
            raise error(f"{folder}: another process is writing to it; wait for it, or name another with -o")
        yield
    finally:
        os.close(held)
