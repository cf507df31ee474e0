"""The protocols as pure values: no I/O, clock, randomness or bytes. The modules here are the vocabulary of
all of them.
"""
