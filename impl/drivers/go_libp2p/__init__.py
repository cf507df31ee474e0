"""go-libp2p-pubsub behind the seam."""
