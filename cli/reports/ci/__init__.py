"""Results for continuous integration: JUnit XML, SARIF, and annotations of GitHub."""
