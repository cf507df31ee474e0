package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/x/simlibp2p"
	"github.com/marcopolo/simnet"
	ma "github.com/multiformats/go-multiaddr"
)

// settling is what a request may take on the simulated network, in virtual time; the next advance is shorter by it.
const settling = time.Millisecond

// fakeHost is no fake here: a host of go-libp2p on its own simulator. Only dials of the router's own accord are
// noted and not made, as whether they succeed is the kit's to say.
type fakeHost struct {
	host.Host
	id      peer.ID
	store   peerstore.Peerstore
	net     *simnet.Simnet
	did     *record
	mu      sync.Mutex
	conns   map[peer.ID]*fakeConn
	ids     map[uint32]peer.ID
	numbers map[peer.ID]uint32
	// What requests took since the last advance.
	debt time.Duration
	// The time that the kit knows of, in ms.
	told int64
}

var link = simnet.NodeBiDiLinkSettings{
	Downlink: simnet.LinkSettings{BitsPerSecond: 1000 * simlibp2p.OneMbps},
	Uplink:   simnet.LinkSettings{BitsPerSecond: 1000 * simlibp2p.OneMbps},
}

func newHost(own uint32, did *record) (*fakeHost, error) {
	h := &fakeHost{
		net: &simnet.Simnet{LatencyFunc: simnet.StaticLatency(100 * time.Microsecond)}, did: did,
		conns: map[peer.ID]*fakeConn{}, ids: map[uint32]peer.ID{}, numbers: map[peer.ID]uint32{},
	}
	h.net.Start()
	made, err := h.simulated(own, addressOf(0, 4001))
	if err != nil {
		return nil, err
	}
	h.Host, h.id, h.store = made, h.idOf(own), made.Peerstore()
	return h, nil
}

func (h *fakeHost) simulated(number uint32, at ma.Multiaddr) (host.Host, error) {
	return libp2p.New(
		libp2p.Identity(keyOf(number)),
		libp2p.ListenAddrs(at),
		simlibp2p.QUICSimnet(h.net, link),
		libp2p.DisableIdentifyAddressDiscovery(),
		libp2p.ResourceManager(&network.NullResourceManager{}),
	)
}

func addressOf(number uint32, port int) ma.Multiaddr {
	ip := net.IPv4(11, byte(number>>16), byte(number>>8), byte(number)|1)
	return ma.StringCast(fmt.Sprintf("/ip4/%s/udp/%d/quic-v1", ip, port))
}

func (h *fakeHost) conn(id peer.ID) *fakeConn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.conns[id]
}

// connect makes a host for the peer; which of the two dials is as it was asked.
func (h *fakeHost) connect(number uint32, name protocol.ID, outbound bool, address uint32) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	other, err := h.simulated(number, addressOf(address<<1, 4001+int(number)))
	if err != nil {
		return err
	}
	c := &fakeConn{host: h, number: number, id: h.idOf(number), other: other}
	other.SetStreamHandler(name, c.read)
	h.mu.Lock()
	h.conns[c.id] = c
	h.mu.Unlock()
	before := time.Now()
	if outbound {
		err = h.Host.Connect(ctx, peer.AddrInfo{ID: c.id, Addrs: other.Addrs()})
	} else {
		err = other.Connect(ctx, peer.AddrInfo{ID: h.id, Addrs: h.Host.Addrs()})
	}
	if err != nil {
		return err
	}
	// Identify first, as between any two hosts.
	time.Sleep(4 * settling)
	made, err := other.NewStream(ctx, h.id, name)
	if err != nil {
		return err
	}
	c.in = &openedStream{made}
	h.debt += time.Since(before)
	// An empty RPC, so that the stream is negotiated now.
	return c.in.feed([]byte{0})
}

func (h *fakeHost) drop(c *fakeConn) bool {
	h.mu.Lock()
	live := h.conns[c.id] == c
	delete(h.conns, c.id)
	h.mu.Unlock()
	_ = c.other.Close()
	return live
}

// shut ends every host.
func (h *fakeHost) shut() {
	h.mu.Lock()
	others := make([]host.Host, 0, len(h.conns))
	for _, c := range h.conns {
		others = append(others, c.other)
	}
	h.mu.Unlock()
	for _, other := range others {
		_ = other.Close()
	}
	_ = h.Host.Close()
	h.net.Close()
}

// settle lets what a request causes cross the network.
func (h *fakeHost) settle() {
	time.Sleep(settling)
	h.debt += settling
}

// advance passes time, less what the requests before took.
func (h *fakeHost) advance(by time.Duration) {
	h.told += by.Milliseconds()
	owed := min(h.debt, by)
	h.debt -= owed
	time.Sleep(by - owed)
}

type fakeConn struct {
	host   *fakeHost
	number uint32
	id     peer.ID
	other  host.Host
	in     *openedStream
}

func (c *fakeConn) stall(bool) { c.host.did.fault = "a peer that does not read is not simulated" }

func (c *fakeConn) read(s network.Stream) {
	from := bufio.NewReader(s)
	for {
		size, err := binary.ReadUvarint(from)
		if err != nil {
			return
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(from, frame); err != nil {
			return
		}
		did := c.host.did
		did.mu.Lock()
		did.out = append(did.out, [3]any{c.number, 0, frame})
		did.mu.Unlock()
	}
}

type openedStream struct{ network.Stream }

func (s *openedStream) feed(data []byte) error {
	_, err := s.Write(data)
	return err
}
