"""The claims: what is asked of every router, each with the clauses that it rests on."""
