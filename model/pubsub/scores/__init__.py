"""The peer score of gossipsub v1.1: its terms, and the events that count."""
