"""Our routers with one planted bug each. A claim is accepted with a mutant that it kills."""
