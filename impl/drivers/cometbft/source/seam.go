package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/cometbft/cometbft/v2/mempool"
)

// version of the module, set by the linker.
var version string

var protocols = []string{
	"flood", "peer-limit", "dog", "dog-adr", "dog-adr-prose", "dog-quint", "dog-quint-run", "dog-go",
}

const (
	// The timer of DOG's controller: a request `adjust` lets it come, and nothing else does.
	interval = 24 * time.Hour
	// Of messages that wait for one peer that does not read.
	waitingMax = 1 << 14
	// How often one peer takes the same message at one instant. A reactor that sends it again and again would
	// never come to rest; as a link of finite speed does, the peer makes it wait.
	repeatsMax = 3
)

// request is any line that the kit writes; each op reads the fields that it has.
type request struct {
	Op       string      `json:"op"`
	Format   int         `json:"format"`
	Protocol string      `json:"protocol"`
	Dog      *parameters `json:"dog"`
	Peer     uint32      `json:"peer"`
	Outbound bool        `json:"outbound"`
	Channel  int         `json:"channel"`
	Data     []byte      `json:"data"`
	Tx       []byte      `json:"tx"`
	Ms       int64       `json:"ms"`
}

type hello struct {
	Name         string              `json:"name"`
	Version      string              `json:"version"`
	Protocols    []string            `json:"protocols"`
	Capabilities []string            `json:"capabilities"`
	Fixed        map[string]float64  `json:"fixed"`
	Switched     map[string][]string `json:"switched"`
	Format       int                 `json:"format"`
}

type reply struct {
	T       int64          `json:"t"`
	Out     [][3]any       `json:"out,omitempty"`
	Closed  []uint32       `json:"closed,omitempty"`
	Crashed string         `json:"crashed,omitempty"`
	State   map[string]any `json:"state,omitempty"`
}

func (r *router) hello() hello {
	return hello{
		Name: name, Version: version, Protocols: protocols, Format: 1,
		Capabilities: []string{"clock", "raw", "stall", "state"},
		Fixed:        map[string]float64{"delta_percent": 10},
		Switched: map[string][]string{
			"connections are the driver's: it takes a message as p2p does, and keeps what a peer does not read": {
				"*/rpc.*", "flood/send.at-decision",
			},
			"a peer takes the same message three times at one instant, and then makes the reactor wait": {
				"flood/send.once",
			},
		},
	}
}

// router: one node and its neighbours.
type router struct {
	node    *node
	persist []uint32
	peers   map[uint32]*neighbour
	// Peers that the reactor closed, until they are disconnected or connected anew.
	left  map[uint32]bool
	nowMs int64
	// When the timer of the controller started last.
	ticking time.Time

	mu     sync.Mutex
	out    [][3]any
	closed []uint32
	// Closed when the next request begins.
	next chan struct{}
}

// neighbour: a peer that the kit plays, and what it has not read.
type neighbour struct {
	*fakePeer
	stalled, leaving bool
	waiting          [][3]any
	// How often each message was sent at this instant.
	repeats map[string]int
}

func open(asked request) (*router, error) {
	if asked.Dog == nil {
		return nil, errors.New("it is a mempool, and takes the parameters of one in `dog`")
	}
	if !slices.Contains(protocols, asked.Protocol) {
		return nil, fmt.Errorf("cometbft %s does not speak %q", version, asked.Protocol)
	}
	dog := asked.Dog.Dog && asked.Protocol != "flood" && asked.Protocol != "peer-limit"
	made, err := newNode(asked.Dog, dog, interval, nil)
	if err != nil {
		return nil, fmt.Errorf("cometbft %s refuses these parameters: %w", version, err)
	}
	return &router{
		node: made, persist: asked.Dog.PersistentPeers, peers: map[uint32]*neighbour{}, left: map[uint32]bool{},
		ticking: time.Now(), next: make(chan struct{}),
	}, nil
}

func (r *router) now() int64 { return r.nowMs }

func (r *router) close() { r.node.stop() }

// answer does what is asked, and says what the reactor did when nothing is left to do at this instant.
func (r *router) answer(asked request) (*reply, error) {
	r.begin()
	if err := r.act(asked); err != nil {
		return nil, err
	}
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := &reply{T: r.nowMs, Out: r.out, Closed: r.closed}
	for _, number := range r.closed {
		delete(r.peers, number)
		r.left[number] = true
	}
	r.out, r.closed = nil, nil
	if asked.Op == "state" {
		answer.State = r.node.state()
	}
	return answer, nil
}

// begin: what was made to wait at the last instant goes on.
func (r *router) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, each := range r.peers {
		clear(each.repeats)
	}
	close(r.next)
	r.next = make(chan struct{})
}

func (r *router) act(asked request) error {
	switch asked.Op {
	case "connect":
		return r.connect(asked)
	case "disconnect", "stall", "resume", "rpc", "raw":
		return r.actOfPeer(asked)
	case "submit":
		// As the RPC of the node does: what it answers to the user is no part of the protocol.
		_, _ = r.node.reactor.TryAddTx(asked.Tx, nil)
	case "commit":
		return r.node.commit(asked.Tx)
	case "adjust":
		since := time.Since(r.ticking)
		time.Sleep(interval - since%interval)
	case "advance":
		if asked.Ms < 0 {
			return errors.New("time in ms cannot be negative")
		}
		r.nowMs += asked.Ms
		time.Sleep(time.Duration(asked.Ms) * time.Millisecond)
	case "state":
	default:
		return fmt.Errorf("%q is a request that it cannot do", asked.Op)
	}
	return nil
}

func (r *router) connect(asked request) error {
	if r.peers[asked.Peer] != nil {
		return fmt.Errorf("peer %d is connected; disconnect it first", asked.Peer)
	}
	delete(r.left, asked.Peer)
	made := &neighbour{repeats: map[string]int{}}
	made.fakePeer = newPeer(
		asked.Peer,
		func(channel byte, message []byte) error { return r.sent(made, channel, message) },
		func() { r.stopped(made) },
	)
	made.outbound, made.persistent = asked.Outbound, slices.Contains(r.persist, asked.Peer)
	r.peers[asked.Peer] = made
	return r.node.add(made.fakePeer)
}

// sent: the reactor sends, on any of its goroutines.
func (r *router) sent(to *neighbour, channel byte, message []byte) error {
	r.mu.Lock()
	for to.repeats[string(message)] >= repeatsMax {
		next := r.next
		r.mu.Unlock()
		select {
		case <-next:
		case <-to.Quit():
			return errStopped
		}
		r.mu.Lock()
	}
	defer r.mu.Unlock()
	to.repeats[string(message)]++
	out := [3]any{to.number, int(channel), message}
	switch {
	case !to.stalled:
		r.out = append(r.out, out)
	case len(to.waiting) >= waitingMax:
		return errLost
	default:
		to.waiting = append(to.waiting, out)
	}
	if channel == mempool.MempoolControlChannel && len(message) > 32 {
		// Once a HaveTx is sent, the reactor starts its timer anew.
		r.ticking = time.Now()
	}
	return nil
}

// stopped: as the reactor loses a peer, it starts its timer anew.
func (r *router) stopped(peer *neighbour) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ticking = time.Now()
	if !peer.leaving {
		r.closed = append(r.closed, peer.number)
	}
}

func (r *router) actOfPeer(asked request) error {
	peer := r.peers[asked.Peer]
	if peer == nil {
		if r.left[asked.Peer] {
			// The reactor closed it: it says nothing more until it is connected again.
			if asked.Op == "disconnect" {
				delete(r.left, asked.Peer)
			}
			return nil
		}
		return fmt.Errorf("peer %d is not connected", asked.Peer)
	}
	switch asked.Op {
	case "disconnect":
		peer.leaving = true
		delete(r.peers, asked.Peer)
		r.node.sw.StopPeerForError(peer.fakePeer, errLost)
	case "stall":
		peer.stalled = true
	case "resume":
		r.mu.Lock()
		defer r.mu.Unlock()
		r.out = append(r.out, peer.waiting...)
		peer.stalled, peer.waiting = false, nil
	case "rpc":
		r.node.receive(peer.fakePeer, byte(asked.Channel), asked.Data)
	case "raw":
		channel, data := byte(0), []byte(nil)
		if len(asked.Data) > 0 {
			channel, data = asked.Data[0], asked.Data[1:]
		}
		r.node.receive(peer.fakePeer, channel, data)
	}
	return nil
}
