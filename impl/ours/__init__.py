"""Our routers as drivers behind the seam, and one of them on TCP."""
