"""Drivers of routers that others wrote."""
