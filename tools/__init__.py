"""What the kit's own developers run: no command needs it, and it does not ship.

Run a tool from the root of a checkout, such as `python -m tools.nightly`; ARCHITECTURE.md lists them. Most
write files that are committed: `.ci/regenerate.py` knows which.
"""
