"""Statements about gossipsub and its kin."""
