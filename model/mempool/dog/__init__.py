"""DOG: its rules, its variants, and the switches between them."""
