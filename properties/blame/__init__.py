"""Which clause an output breaks that nothing permits."""
