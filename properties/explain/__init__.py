"""From a departure to its root cause: a minimal run, and the smallest edit that accounts for it."""
