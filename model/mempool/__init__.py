"""The mempool protocols of CometBFT: Flood, DOG, CAT and the peer limit."""
