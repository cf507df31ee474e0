"""Two protocols compared: what they are, and what changes in behaviour."""
