"""Everything that touches bytes: wire codecs, our routers, and the seam to routers under test."""
