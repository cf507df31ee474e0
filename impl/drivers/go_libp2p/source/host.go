package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	ma "github.com/multiformats/go-multiaddr"
)

// Of one stream whose reader has stopped; beyond it the driver refuses to feed more.
const unreadMax = 64 << 20

// fakeHost is a host without a network: what pubsub asks of one. A method that is not here is nil, and a
// release that calls it says which.
type fakeHost struct {
	host.Host
	id       peer.ID
	store    peerstore.Peerstore
	bus      event.Bus
	net      *fakeNetwork
	did      *record
	mu       sync.Mutex
	handlers map[protocol.ID]network.StreamHandler
	conns    map[peer.ID]*fakeConn
	ids      map[uint32]peer.ID
	numbers  map[peer.ID]uint32
	arrived  event.Emitter
	changed  event.Emitter
}

func newHost(own uint32, did *record) (*fakeHost, error) {
	store, err := pstoremem.NewPeerstore()
	if err != nil {
		return nil, err
	}
	h := &fakeHost{
		store: store, bus: eventbus.NewBus(), did: did,
		handlers: map[protocol.ID]network.StreamHandler{},
		conns:    map[peer.ID]*fakeConn{},
		ids:      map[uint32]peer.ID{}, numbers: map[peer.ID]uint32{},
	}
	h.net = &fakeNetwork{host: h}
	h.id = h.idOf(own)
	if err := store.AddPrivKey(h.id, keyOf(own)); err != nil {
		return nil, err
	}
	if h.arrived, err = h.bus.Emitter(&event.EvtPeerIdentificationCompleted{}); err != nil {
		return nil, err
	}
	h.changed, err = h.bus.Emitter(&event.EvtPeerConnectednessChanged{})
	return h, err
}

func addressOf(number uint32, port int) ma.Multiaddr {
	return ma.StringCast(fmt.Sprintf("/ip4/10.%d.%d.%d/tcp/%d", number>>16&255, number>>8&255, number&255, port))
}

func (h *fakeHost) ID() peer.ID                      { return h.id }
func (h *fakeHost) Peerstore() peerstore.Peerstore   { return h.store }
func (h *fakeHost) Addrs() []ma.Multiaddr            { return []ma.Multiaddr{addressOf(0, 4001)} }
func (h *fakeHost) Network() network.Network         { return h.net }
func (h *fakeHost) EventBus() event.Bus              { return h.bus }
func (h *fakeHost) ConnManager() connmgr.ConnManager { return connmgr.NullConnMgr{} }
func (h *fakeHost) RemoveStreamHandler(protocol.ID)  {}

func (h *fakeHost) SetStreamHandler(name protocol.ID, handler network.StreamHandler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handlers[name] = handler
}

func (h *fakeHost) SetStreamHandlerMatch(name protocol.ID, _ func(protocol.ID) bool, handler network.StreamHandler) {
	h.SetStreamHandler(name, handler)
}

func (h *fakeHost) NewStream(_ context.Context, to peer.ID, names ...protocol.ID) (network.Stream, error) {
	conn := h.conn(to)
	if conn == nil {
		return nil, errGone
	}
	for _, name := range names {
		if name == conn.protocol {
			return conn.open(&fakeStream{outbound: true}), nil
		}
	}
	return nil, fmt.Errorf("the peer speaks %s alone", conn.protocol)
}

func (h *fakeHost) conn(id peer.ID) *fakeConn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.conns[id]
}

// connect opens streams of the protocol both ways.
func (h *fakeHost) connect(number uint32, name protocol.ID, outbound bool, address uint32) error {
	h.mu.Lock()
	handler := h.handlers[name]
	h.mu.Unlock()
	if handler == nil {
		return fmt.Errorf("no protocol in common: the router does not offer %s", name)
	}
	conn := &fakeConn{
		host: h, number: number, id: h.idOf(number), protocol: name, direction: network.DirInbound,
		address: addressOf(address, 4001+int(number)), gone: make(chan struct{}), resumed: make(chan struct{}),
	}
	if outbound {
		conn.direction = network.DirOutbound
	}
	close(conn.resumed)
	conn.in = conn.open(&fakeStream{})
	h.mu.Lock()
	h.conns[conn.id] = conn
	h.mu.Unlock()
	if err := h.changed.Emit(event.EvtPeerConnectednessChanged{Peer: conn.id, Connectedness: network.Connected}); err != nil {
		return err
	}
	go handler(conn.in)
	return h.arrived.Emit(event.EvtPeerIdentificationCompleted{
		Peer: conn.id, Conn: conn, Protocols: []protocol.ID{name},
	})
}

// drop: the connection is gone, on whichever side's account; its streams end.
func (h *fakeHost) drop(conn *fakeConn) bool {
	h.mu.Lock()
	live := h.conns[conn.id] == conn
	if live {
		delete(h.conns, conn.id)
		close(conn.gone)
	}
	h.mu.Unlock()
	if live {
		_ = h.changed.Emit(event.EvtPeerConnectednessChanged{Peer: conn.id, Connectedness: network.NotConnected})
	}
	return live
}

type fakeNetwork struct {
	network.Network
	host *fakeHost
}

func (n *fakeNetwork) Peerstore() peerstore.Peerstore { return n.host.store }
func (n *fakeNetwork) LocalPeer() peer.ID             { return n.host.id }
func (n *fakeNetwork) Notify(network.Notifiee)        {}
func (n *fakeNetwork) StopNotify(network.Notifiee)    {}

func (n *fakeNetwork) Connectedness(id peer.ID) network.Connectedness {
	if n.host.conn(id) != nil {
		return network.Connected
	}
	return network.NotConnected
}

func (n *fakeNetwork) Peers() []peer.ID {
	n.host.mu.Lock()
	defer n.host.mu.Unlock()
	ids := []peer.ID{}
	for id := range n.host.conns {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	return ids
}

func (n *fakeNetwork) Conns() []network.Conn {
	conns := []network.Conn{}
	for _, id := range n.Peers() {
		conns = append(conns, n.ConnsToPeer(id)...)
	}
	return conns
}

func (n *fakeNetwork) ConnsToPeer(id peer.ID) []network.Conn {
	if conn := n.host.conn(id); conn != nil {
		return []network.Conn{conn}
	}
	return nil
}

func (n *fakeNetwork) ClosePeer(id peer.ID) error {
	if conn := n.host.conn(id); conn != nil {
		conn.hangUp()
	}
	return nil
}

type fakeConn struct {
	network.Conn
	host      *fakeHost
	number    uint32
	id        peer.ID
	protocol  protocol.ID
	direction network.Direction
	address   ma.Multiaddr
	in        *fakeStream
	gone      chan struct{}
	mu        sync.Mutex
	streams   []network.Stream
	stalled   bool
	// Closed while the peer reads.
	resumed chan struct{}
}

func (c *fakeConn) open(s *fakeStream) *fakeStream {
	s.conn, s.arrived = c, make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams = append(c.streams, s)
	return s
}

// hangUp: the router reset a stream. A peer without its stream has no use for the connection and drops it.
func (c *fakeConn) hangUp() {
	if c.host.drop(c) {
		c.host.did.mu.Lock()
		c.host.did.closed = append(c.host.did.closed, c.number)
		c.host.did.mu.Unlock()
	}
}

func (c *fakeConn) stall(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if on && !c.stalled {
		c.resumed = make(chan struct{})
	} else if !on && c.stalled {
		close(c.resumed)
	}
	c.stalled = on
}

func (c *fakeConn) ID() string                    { return fmt.Sprintf("connection-%d", c.number) }
func (c *fakeConn) Close() error                  { c.hangUp(); return nil }
func (c *fakeConn) LocalPeer() peer.ID            { return c.host.id }
func (c *fakeConn) RemotePeer() peer.ID           { return c.id }
func (c *fakeConn) LocalMultiaddr() ma.Multiaddr  { return addressOf(0, 4001) }
func (c *fakeConn) RemoteMultiaddr() ma.Multiaddr { return c.address }
func (c *fakeConn) IsClosed() bool                { return c.host.conn(c.id) != c }
func (c *fakeConn) Stat() network.ConnStats {
	return network.ConnStats{Stats: network.Stats{Direction: c.direction}}
}
func (c *fakeConn) RemotePublicKey() crypto.PubKey             { return keyOf(c.number).GetPublic() }
func (c *fakeConn) ConnState() (state network.ConnectionState) { return }

func (c *fakeConn) GetStreams() []network.Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]network.Stream{}, c.streams...)
}

// fakeStream: what is fed to an inbound one the router's read loop reads; each frame that the router writes
// to an outbound one becomes an output.
type fakeStream struct {
	network.Stream
	conn     *fakeConn
	outbound bool
	mu       sync.Mutex
	unread   []byte
	arrived  chan struct{}
	written  []byte
	deadline time.Time
}

func (s *fakeStream) ID() string                         { return s.conn.ID() }
func (s *fakeStream) Protocol() protocol.ID              { return s.conn.protocol }
func (s *fakeStream) SetProtocol(protocol.ID) error      { return nil }
func (s *fakeStream) Conn() network.Conn                 { return s.conn }
func (s *fakeStream) Stat() network.Stats                { return network.Stats{Direction: s.direction()} }
func (s *fakeStream) Reset() error                       { s.conn.hangUp(); return nil }
func (s *fakeStream) Close() error                       { s.conn.hangUp(); return nil }
func (s *fakeStream) CloseWrite() error                  { return nil }
func (s *fakeStream) CloseRead() error                   { return nil }
func (s *fakeStream) SetDeadline(at time.Time) error     { return s.SetWriteDeadline(at) }
func (s *fakeStream) SetReadDeadline(at time.Time) error { return nil }

func (s *fakeStream) direction() network.Direction {
	if s.outbound {
		return network.DirOutbound
	}
	return network.DirInbound
}

func (s *fakeStream) SetWriteDeadline(at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = at
	return nil
}

func (s *fakeStream) feed(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unread)+len(data) > unreadMax {
		return fmt.Errorf("%d bytes to the router are unread: its read loop has stopped; disconnect the peer", len(s.unread))
	}
	s.unread = append(s.unread, data...)
	select {
	case s.arrived <- struct{}{}:
	default:
	}
	return nil
}

func (s *fakeStream) Read(into []byte) (int, error) {
	for {
		s.mu.Lock()
		n := copy(into, s.unread)
		s.unread = s.unread[n:]
		s.mu.Unlock()
		if n > 0 || len(into) == 0 {
			return n, nil
		}
		select {
		case <-s.arrived:
		case <-s.conn.gone:
			return 0, network.ErrReset
		}
	}
}

func (s *fakeStream) Write(data []byte) (int, error) {
	if err := s.untilRead(); err != nil {
		return 0, err
	}
	did := s.conn.host.did
	did.mu.Lock()
	defer did.mu.Unlock()
	if !s.outbound {
		did.fault = "the router wrote on the stream that its peer had opened"
		return len(data), nil
	}
	s.written = append(s.written, data...)
	for {
		size, head := binary.Uvarint(s.written)
		if head <= 0 || uint64(len(s.written)-head) < size {
			return len(data), nil
		}
		frame := append([]byte{}, s.written[head:head+int(size)]...)
		s.written = s.written[head+int(size):]
		did.out = append(did.out, [3]any{s.conn.number, 0, frame})
	}
}

// untilRead waits while the peer does not read, until the deadline that the router set.
func (s *fakeStream) untilRead() error {
	s.conn.mu.Lock()
	resumed := s.conn.resumed
	s.conn.mu.Unlock()
	s.mu.Lock()
	deadline := s.deadline
	s.mu.Unlock()
	var late <-chan time.Time
	select {
	case <-s.conn.gone:
		return errGone
	case <-resumed:
		return nil
	default:
	}
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-s.conn.gone:
		return errGone
	case <-resumed:
		return nil
	case <-late:
		return os.ErrDeadlineExceeded
	}
}
