"""Small networks of model nodes or real routers, with messages in flight and every choice named."""
