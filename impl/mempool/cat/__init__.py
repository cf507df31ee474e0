"""Our CAT reactor."""
