"""The protocols as pure values: no I/O, clock, randomness or bytes."""
