"""Replay of any case: of one router, or of a network of model nodes or real routers."""
