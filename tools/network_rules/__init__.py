"""Which rules of networks are taken: by an exploration, and by runs of routers that links follow."""
