"""Which planted bugs of our routers are found, how soon, and by which claim."""
