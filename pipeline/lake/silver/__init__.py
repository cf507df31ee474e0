"""Silver: one sorted table of small integers."""
