"""Reports that are passed on: a page for a browser, and a text for an issue tracker."""
