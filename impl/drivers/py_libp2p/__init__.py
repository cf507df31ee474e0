"""py-libp2p behind the seam."""
