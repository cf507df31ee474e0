"""Scenarios: what a file says of a network."""
