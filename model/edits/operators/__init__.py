"""Operators: the ways in which any one rule can go wrong."""
