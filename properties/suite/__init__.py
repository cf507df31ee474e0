"""The fixed suite of cases: how it is found, and how a router is played through it."""
