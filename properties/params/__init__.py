"""Parameters of a network: what they guarantee, and the cheapest attack where they do not."""
