"""What others wrote, or wrote apart: vectors of leanSpec, runs of our Quint text of DOG."""
