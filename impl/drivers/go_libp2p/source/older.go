package main

import "github.com/libp2p/go-libp2p/core/network"

// A release before 0.10.0 learns of its peers from the network, and not from the event bus.

func (n *fakeNetwork) Notify(who network.Notifiee) {
	n.host.mu.Lock()
	defer n.host.mu.Unlock()
	n.host.notified = append(n.host.notified, who)
}

func (n *fakeNetwork) StopNotify(network.Notifiee) {
	n.host.mu.Lock()
	defer n.host.mu.Unlock()
	n.host.notified = nil
}

func (h *fakeHost) tell(conn *fakeConn, connected bool) {
	h.mu.Lock()
	notified := append([]network.Notifiee{}, h.notified...)
	h.mu.Unlock()
	for _, each := range notified {
		if connected {
			each.Connected(h.net, conn)
		} else {
			each.Disconnected(h.net, conn)
		}
	}
}
