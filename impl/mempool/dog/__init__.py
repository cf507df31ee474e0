"""Our DOG reactor."""
