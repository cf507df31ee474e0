"""The networks that are explored and proved, and what is decided of each."""
