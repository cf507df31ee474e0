"""Our Quint text of DOG: its runs, replayed on the model."""
