"""The routes of DOG, its controller, and whom it cuts off."""
