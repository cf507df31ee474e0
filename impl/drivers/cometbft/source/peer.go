package main

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/cosmos/gogoproto/proto"

	protomem "github.com/cometbft/cometbft/api/cometbft/mempool/v2"
	"github.com/cometbft/cometbft/v2/libs/service"
	"github.com/cometbft/cometbft/v2/mempool"
	"github.com/cometbft/cometbft/v2/p2p"
	"github.com/cometbft/cometbft/v2/p2p/netaddr"
	tcpconn "github.com/cometbft/cometbft/v2/p2p/transport/tcp/conn"
	"github.com/cometbft/cometbft/v2/types"
)

var (
	errStopped = errors.New("peer not running")
	errLost    = errors.New("the connection is lost")
)

// fakePeer is a neighbour as the reactor sees it. What the reactor sends goes to `sent`, in the order of sending.
type fakePeer struct {
	*service.BaseService
	number     uint32
	id         p2p.ID
	outbound   bool
	persistent bool
	sent       func(channel byte, message []byte) error
	stopped    func()

	mu      sync.Mutex
	data    map[string]any
	removal bool
}

var _ p2p.Peer = (*fakePeer)(nil)

// everHigh: the state that the consensus reactor would keep of a peer. It has every block, so that no transaction
// waits for it to catch up.
type everHigh struct{}

func (everHigh) GetHeight() int64 { return 1 << 60 }

func newPeer(number uint32, sent func(byte, []byte) error, stopped func()) *fakePeer {
	p := &fakePeer{
		number: number, id: idOf(number), sent: sent, stopped: stopped,
		data: map[string]any{types.PeerStateKey: everHigh{}},
	}
	p.BaseService = service.NewBaseService(nil, "Peer", p)
	return p
}

// idOf: 40 hexadecimal digits, as ids of nodes are.
func idOf(number uint32) p2p.ID { return p2p.ID(fmt.Sprintf("%040x", number)) }

func (p *fakePeer) OnStop()    { p.stopped() }
func (p *fakePeer) FlushStop() { _ = p.Stop() }

func (p *fakePeer) ID() p2p.ID { return p.id }
func (p *fakePeer) RemoteIP() net.IP {
	return net.IPv4(10, byte(p.number>>16), byte(p.number>>8), byte(p.number))
}
func (p *fakePeer) RemoteAddr() net.Addr         { return &net.TCPAddr{IP: p.RemoteIP(), Port: 26656} }
func (p *fakePeer) IsOutbound() bool             { return p.outbound }
func (p *fakePeer) IsPersistent() bool           { return p.persistent }
func (p *fakePeer) NodeInfo() p2p.NodeInfo       { return p2p.NodeInfoDefault{DefaultNodeID: p.id} }
func (p *fakePeer) ConnState() p2p.ConnState     { return p2p.ConnState{} }
func (p *fakePeer) SocketAddr() *netaddr.NetAddr { return netaddr.NewFromIPPort(p.RemoteIP(), 26656) }

func (p *fakePeer) HasChannel(channel byte) bool {
	return channel == mempool.MempoolChannel || channel == mempool.MempoolControlChannel
}

// Send marshals as p2p's own peer does.
func (p *fakePeer) Send(e p2p.Envelope) error {
	if !p.IsRunning() {
		return errStopped
	}
	if !p.HasChannel(e.ChannelID) {
		return fmt.Errorf("stream %d not found", e.ChannelID)
	}
	message := e.Message
	if w, ok := message.(types.Wrapper); ok {
		message = w.Wrap()
	}
	data, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	return p.sent(e.ChannelID, data)
}

func (p *fakePeer) TrySend(e p2p.Envelope) error { return p.Send(e) }

func (p *fakePeer) Get(key string) any {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.data[key]
}

func (p *fakePeer) Set(key string, value any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.data[key] = value
}

func (p *fakePeer) SetRemovalFailed()      { p.removal = true }
func (p *fakePeer) GetRemovalFailed() bool { return p.removal }

// receive hands a message over as the connection and p2p's peer do (tcp/conn/connection.go, recvPacketMsg, and
// peer.go, onReceive, which cannot be called from outside): by channel and size, decoded and unwrapped, and with
// each error, or panic of the reactor, the end of the peer.
func (n *node) receive(p *fakePeer, channel byte, data []byte) {
	defer func() {
		if fault := recover(); fault != nil {
			n.sw.StopPeerForError(p, fault)
		}
	}()
	capacity, known := n.capacities[channel]
	if !known || len(data) > capacity {
		n.sw.StopPeerForError(p, fmt.Errorf("channel %#x, %d bytes", channel, len(data)))
		return
	}
	wrapped := &protomem.Message{}
	if err := proto.Unmarshal(data, wrapped); err != nil {
		n.sw.StopPeerForError(p, err)
		return
	}
	message, err := wrapped.Unwrap()
	if err != nil {
		n.sw.StopPeerForError(p, err)
		return
	}
	n.reactor.Receive(p2p.Envelope{ChannelID: channel, Src: p, Message: message})
}

// capacitiesOf: by channel, of how many bytes a message may be.
func capacitiesOf(reactor *mempool.Reactor) map[byte]int {
	sizes := map[byte]int{}
	for _, each := range reactor.StreamDescriptors() {
		descriptor := each.(tcpconn.StreamDescriptor)
		sizes[descriptor.ID] = descriptor.RecvMessageCapacity
	}
	return sizes
}
