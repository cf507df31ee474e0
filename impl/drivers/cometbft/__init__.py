"""The mempool reactor of CometBFT behind the seam."""
