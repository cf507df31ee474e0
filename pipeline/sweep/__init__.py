"""Campaigns: many simulations or searches, here or on a cluster."""
