"""What the neighbours of a router under test do next, drawn from what the model says of it."""
