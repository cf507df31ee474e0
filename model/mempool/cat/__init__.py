"""CAT: its rules, classic and current, and its accounts of requests."""
