"""quidnunc: a compatibility kit for gossip routers. See `quidnunc --help`."""

__version__ = "0.1.0"
