"""Claims about routers and networks, and the engines that look for a failure of each."""
