package main

import (
	"errors"
	"fmt"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/protocol"
)

// request is any line that the kit writes; each op reads the fields that it has.
type request struct {
	Op         string      `json:"op"`
	Format     int         `json:"format"`
	Seed       int64       `json:"seed"`
	Protocol   string      `json:"protocol"`
	Parameters *parameters `json:"parameters"`
	Identity   uint32      `json:"identity"`
	Peer       uint32      `json:"peer"`
	Outbound   bool        `json:"outbound"`
	Address    uint32      `json:"address"`
	Channel    int         `json:"channel"`
	Data       []byte      `json:"data"`
	Topic      string      `json:"topic"`
	Message    []byte      `json:"message"`
	Judgement  string      `json:"judgement"`
	Kind       string      `json:"kind"`
	Value      int64       `json:"value"`
	Ms         int64       `json:"ms"`
	Requests   bool        `json:"requests"`
	Supports   bool        `json:"supports"`
	Group      []byte      `json:"group"`
	Decisions  []decision  `json:"decisions"`
}

// decision is what the application decides about a partial message for one peer.
type decision struct {
	Peer     uint32 `json:"peer"`
	Payload  []byte `json:"payload"`
	Metadata []byte `json:"metadata"`
	Next     []byte `json:"next"`
	Error    bool   `json:"error"`
}

type partialCall struct {
	Kind     string  `json:"kind"`
	Topic    string  `json:"topic"`
	Group    []byte  `json:"group"`
	Peer     uint32  `json:"peer"`
	State    *[]byte `json:"state,omitempty"`
	Requests bool    `json:"requests,omitempty"`
	Payload  *[]byte `json:"payload,omitempty"`
	Metadata *[]byte `json:"metadata,omitempty"`
}

type hello struct {
	Name         string              `json:"name"`
	Version      string              `json:"version"`
	Protocols    []string            `json:"protocols"`
	Capabilities []string            `json:"capabilities"`
	Switched     map[string][]string `json:"switched,omitempty"`
	Format       int                 `json:"format"`
}

type reply struct {
	T         int64          `json:"t"`
	Out       [][3]any       `json:"out,omitempty"`
	Delivered [][2]any       `json:"delivered,omitempty"`
	Dials     []uint32       `json:"dials,omitempty"`
	Closed    []uint32       `json:"closed,omitempty"`
	Crashed   string         `json:"crashed,omitempty"`
	State     map[string]any `json:"state,omitempty"`
	Partial   []partialCall  `json:"partial,omitempty"`
}

// answer does what is asked, and says what the router did when nothing is left to do at this instant.
func (n *node) answer(asked request) (*reply, error) {
	if err := n.act(asked); err != nil {
		return nil, err
	}
	synctest.Wait()
	did := n.host.did
	did.mu.Lock()
	defer did.mu.Unlock()
	answer := &reply{
		T: n.now(), Out: did.out, Delivered: did.delivered, Dials: did.dials, Closed: did.closed,
		Crashed: did.fault, Partial: did.partial,
	}
	for _, number := range did.closed {
		n.left[number] = true
	}
	did.out, did.delivered, did.dials, did.closed, did.partial = nil, nil, nil, nil, nil
	if asked.Op == "state" {
		answer.State = n.state()
	}
	return answer, nil
}

func (n *node) act(asked request) error {
	switch asked.Op {
	case "connect":
		return n.connect(asked)
	case "disconnect", "stall", "resume", "rpc", "raw", "score":
		return n.actOfPeer(asked)
	case "join", "join_partial":
		return n.join(asked.Topic, asked.Requests, asked.Supports)
	case "leave":
		if sub := n.subscriptions[asked.Topic]; sub != nil {
			delete(n.subscriptions, asked.Topic)
			sub.Cancel()
		}
	case "publish":
		return n.publish(asked.Topic, asked.Data)
	case "publish_partial":
		return n.publishPartial(asked.Topic, asked.Group, asked.Decisions)
	case "feedback":
		return n.feedback(asked.Topic, asked.Peer, asked.Kind)
	case "verdict":
		n.judge(string(asked.Message), asked.Judgement)
	case "advance":
		if asked.Ms < 0 {
			return errors.New("time in ms cannot be negative")
		}
		time.Sleep(time.Duration(asked.Ms) * time.Millisecond)
	case "state":
	default:
		return fmt.Errorf("%q is a request that it cannot do", asked.Op)
	}
	return nil
}

func (n *node) connect(asked request) error {
	if asked.Peer == n.own {
		return errors.New("that is the router itself")
	}
	if n.host.conn(n.host.idOf(asked.Peer)) != nil {
		return fmt.Errorf("peer %d is connected; disconnect it first", asked.Peer)
	}
	delete(n.left, asked.Peer)
	address := asked.Address
	if address == 0 {
		// Each peer has an IP of its own: a router that counts peers per address must find nothing to count.
		address = asked.Peer
	} else {
		address |= 1 << 23
	}
	return n.host.connect(asked.Peer, protocol.ID(asked.Protocol), asked.Outbound, address)
}

func (n *node) actOfPeer(asked request) error {
	if asked.Op == "score" {
		n.score(asked.Peer, float64(asked.Value))
		return nil
	}
	conn := n.host.conn(n.host.idOf(asked.Peer))
	if conn == nil {
		if n.left[asked.Peer] {
			// The router hung up on it: it says nothing more until it is connected again.
			if asked.Op == "disconnect" {
				delete(n.left, asked.Peer)
			}
			return nil
		}
		return fmt.Errorf("peer %d is not connected", asked.Peer)
	}
	switch asked.Op {
	case "disconnect":
		n.host.drop(conn)
	case "stall", "resume":
		conn.stall(asked.Op == "stall")
	case "rpc":
		if asked.Channel != 0 {
			return fmt.Errorf("channel %#x: a pubsub router has channel 0 alone", asked.Channel)
		}
		return conn.in.feed(framed(asked.Data))
	case "raw":
		return conn.in.feed(asked.Data)
	}
	return nil
}
