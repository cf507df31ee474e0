"""Decide the statements for every revision, and write their pages."""
