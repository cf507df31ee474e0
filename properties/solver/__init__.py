"""Networks as guarded commands: written once as z3 expressions, explored, compiled and proved."""
