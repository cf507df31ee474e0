"""Known bugs of released routers, each played on the last release that has it and the first one without."""
