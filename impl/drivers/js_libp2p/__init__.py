"""js-libp2p: the released gossipsub on a node without a network, behind a process of Node.js."""
