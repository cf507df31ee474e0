"""Traces of any size: landing, bronze, silver and gold, on Spark."""
