"""Bronze: every record as it came, bad ones aside."""
