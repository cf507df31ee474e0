"""Gold: claims and metrics, asked in SQL."""
