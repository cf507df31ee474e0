"""One message over a mesh, and the star."""
