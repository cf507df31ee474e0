"""Cases as text: written, read and replayed."""
