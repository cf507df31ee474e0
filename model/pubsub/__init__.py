"""floodsub and gossipsub v1.0 to v1.3: rules, one per sentence, and the router state they step."""
