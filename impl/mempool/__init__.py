"""Our mempool nodes, written from the documents and independently of the model."""
