"""Traces and simulated networks, of any size."""
