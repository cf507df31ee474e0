"""Networks in which some routers are of one protocol and some of another."""
