"""The Hypothesis search: one state machine, campaigns of batches, verdicts."""
