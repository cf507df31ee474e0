"""The kit in the environment of another release: `python -P child.py ROUTER FOLDER FOLDER FOLDER`.

The kit cannot be installed there, because its packages and those of old releases exclude each other. So this
file, which imports nothing of the kit, takes the folders of `PACKAGES` from the process that starts it. Of
other packages the kit needs `attrs` and `cryptography` there.
"""

from __future__ import annotations

import runpy
import sys
from importlib.util import module_from_spec, spec_from_file_location

PACKAGES = ("quidnunc", "quidnunc.model", "quidnunc.impl")


def load_kit(folders: list[str]) -> None:
    """Make each of `PACKAGES` importable from its folder."""
    for name, folder in zip(PACKAGES, folders, strict=True):
        spec = spec_from_file_location(name, f"{folder}/__init__.py", submodule_search_locations=[folder])
        if spec is None or spec.loader is None:
            raise ImportError(f"{folder} has no {name}")
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


if __name__ == "__main__":
    load_kit(sys.argv[2:])
    del sys.argv[2:]
    runpy.run_module("quidnunc.impl.sidecar_host", run_name="__main__", alter_sys=True)
