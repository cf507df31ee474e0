"""Edits of a protocol: other readings of an open sentence, and rules dropped or replaced."""
