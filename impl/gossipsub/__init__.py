"""Our pubsub router, written from the documents and independently of the model."""
