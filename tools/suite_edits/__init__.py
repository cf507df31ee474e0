"""Small edits of any rule, and traces that tell a protocol from one so edited."""
