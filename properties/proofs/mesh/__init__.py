"""The mesh link of two peers."""
