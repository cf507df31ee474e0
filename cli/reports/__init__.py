"""Results as text for a terminal: tables, cases, verdicts."""
