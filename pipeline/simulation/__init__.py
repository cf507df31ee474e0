"""Simulated networks of real routers on one clock."""
