"""Where the statements of each catalogue are looked at."""
