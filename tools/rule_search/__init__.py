"""Which trace shows that a rule of a protocol is dropped: the search that writes the suite."""
