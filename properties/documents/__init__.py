"""The specifications as data: clauses, the sentences that they rest on, and revisions compared."""
