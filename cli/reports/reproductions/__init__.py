"""A finding as a test of the router's own: in its language, without this kit."""
