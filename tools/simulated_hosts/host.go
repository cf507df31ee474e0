package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	"github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/x/simlibp2p"
	"github.com/marcopolo/simnet"
	ma "github.com/multiformats/go-multiaddr"
)

// How far a peer id is looked for among the known keys, when the router dials someone not yet seen.
const peersMax = 4096

// settling is what a request may take on the simulated network, in virtual time; the next advance is shorter by it.
const settling = time.Millisecond

var errGone = errors.New("the connection is gone")

func keyOf(number uint32) crypto.PrivKey {
	seed := make([]byte, ed25519.SeedSize)
	binary.LittleEndian.PutUint32(seed, number)
	key, err := crypto.UnmarshalEd25519PrivateKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		panic(err)
	}
	return key
}

// What the router did since the last reply.
type record struct {
	mu        sync.Mutex
	out       [][3]any
	delivered [][2]any
	dials     []uint32
	closed    []uint32
	partial   []partialCall
	fault     string
}

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

func (h *fakeHost) idOf(number uint32) peer.ID {
	h.did.mu.Lock()
	defer h.did.mu.Unlock()
	if id, ok := h.ids[number]; ok {
		return id
	}
	id, err := peer.IDFromPrivateKey(keyOf(number))
	if err != nil {
		panic(err)
	}
	h.ids[number], h.numbers[id] = id, number
	return id
}

func (h *fakeHost) numberOf(id peer.ID) (uint32, bool) {
	h.did.mu.Lock()
	number, ok := h.numbers[id]
	h.did.mu.Unlock()
	for try := uint32(0); !ok && try < peersMax; try++ {
		if h.idOf(try) == id {
			return try, true
		}
	}
	return number, ok
}

func addressOf(number uint32, port int) ma.Multiaddr {
	ip := net.IPv4(11, byte(number>>16), byte(number>>8), byte(number)|1)
	return ma.StringCast(fmt.Sprintf("/ip4/%s/udp/%d/quic-v1", ip, port))
}

// Connect: the router dials of its own accord.
func (h *fakeHost) Connect(_ context.Context, to peer.AddrInfo) error {
	if number, ok := h.numberOf(to.ID); ok {
		h.did.mu.Lock()
		h.did.dials = append(h.did.dials, number)
		h.did.mu.Unlock()
	}
	return nil
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
func (h *fakeHost) advance(ms int64) {
	h.told += ms
	owed := min(h.debt, time.Duration(ms)*time.Millisecond)
	h.debt -= owed
	time.Sleep(time.Duration(ms)*time.Millisecond - owed)
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
