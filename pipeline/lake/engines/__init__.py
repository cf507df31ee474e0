"""What carries out the pipeline: Spark, here or on a cluster, or processes and DuckDB on one machine."""
