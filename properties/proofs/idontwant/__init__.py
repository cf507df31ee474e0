"""IDONTWANT and a forged copy, as rules and on the wire."""
