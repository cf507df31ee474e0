"""Statements about Flood, DOG, CAT and the peer limit."""
