"""Partial messages: metadata, groups and their gossip."""
