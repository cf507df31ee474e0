"""Occasions: events at which a router could have broken a clause that no rule decides.

No rule fires for such a clause and no permit bears it: nobody "decides" not to graft. Its claim would never
apply. So the claim says when it does (`quidnunc.properties.claims`), in the words that are written here.
"""
