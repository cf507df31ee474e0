"""Vectors of leanSpec: read, and played on the model and on a router."""
