"""Cases of the suite in which planted bugs show, written by hand at the bounds."""
