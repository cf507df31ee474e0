"""Statements that the documents make or rely on, with what decides each."""
