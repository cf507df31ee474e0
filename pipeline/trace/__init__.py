"""Traces: schema, carriers, check and metrics of one."""
