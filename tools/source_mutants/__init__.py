"""Mutants of our routers' sources, made by operators on the syntax tree: an untuned measure of the kit."""
