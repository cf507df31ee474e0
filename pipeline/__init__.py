"""Traces of networks: recorded, read, measured, and held against the claims."""
