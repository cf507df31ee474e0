"""Claims about routers, and the engines that look for their failure."""
