package main

import (
	"errors"
	"io"
	"iter"
	"log/slog"
	"sort"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p-pubsub/partialmessages"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// A release with the extensions of v1.3: the test extension and partial messages.

var spokenSince = []struct {
	protocol string
	stream   protocol.ID
}{
	{"gossipsub-1.3", "/meshsub/1.3.0"},
	{"partial-messages", "/meshsub/1.3.0"},
	{"partial-messages-go", "/meshsub/1.3.0"},
}

// peerState is what the application keeps of a peer; nil is nothing yet.
type peerState []byte

func hasPartial(protocol string) bool {
	return protocol == "partial-messages" || protocol == "partial-messages-go"
}

func extensions(protocol string) []string {
	switch {
	case hasPartial(protocol):
		return []string{"test-extension", "partial", "feedback"}
	case protocol == "gossipsub-1.3":
		return []string{"test-extension"}
	}
	return nil
}

func (n *node) extensionOptions() []pubsub.Option {
	options := []pubsub.Option{}
	if hasPartial(n.asked.Protocol) {
		options = append(options, pubsub.WithPartialMessagesExtension(n.partialMessages()))
	}
	since := n.asked.Protocol == "gossipsub-1.3" || hasPartial(n.asked.Protocol)
	if since && n.asked.Parameters.TestExtension {
		options = append(options, pubsub.WithTestExtension(pubsub.TestExtensionConfig{}))
	}
	return options
}

// partialMessages: an application that notes what it is called for, and keeps what the kit decides.
func (n *node) partialMessages() *partialmessages.PartialMessagesExtension[peerState] {
	p := n.asked.Parameters
	return &partialmessages.PartialMessagesExtension[peerState]{
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		OnEmitGossip: func(topic string, group []byte, peers []peer.ID, _ map[peer.ID]peerState) {
			for _, number := range n.numbered(peers) {
				n.note(partialCall{Kind: "gossip", Topic: topic, Group: group, Peer: number})
			}
		},
		OnIncomingRPC: func(from peer.ID, _ map[peer.ID]peerState, rpc *pb.PartialMessagesExtension) error {
			call := partialCall{Kind: "hand", Topic: rpc.GetTopicID(), Group: rpc.GetGroupID()}
			call.Peer = n.numbered([]peer.ID{from})[0]
			call.Payload, call.Metadata = given(rpc.PartialMessage), given(rpc.PartsMetadata)
			n.note(call)
			return nil
		},
		PeerInitiatedGroupLimitPerTopic:        p.MaxGroupsPerTopic,
		PeerInitiatedGroupLimitPerTopicPerPeer: p.MaxGroupsPerPeer,
		GroupTTLByHeatbeat:                     p.GroupTTLHeartbeats,
	}
}

func given(data []byte) *[]byte {
	if data == nil {
		return nil
	}
	return &data
}

func (n *node) note(call partialCall) {
	if call.Group == nil {
		call.Group = []byte{}
	}
	n.host.did.mu.Lock()
	defer n.host.did.mu.Unlock()
	n.host.did.partial = append(n.host.did.partial, call)
}

// numbered: the peers by their numbers, in order.
func (n *node) numbered(ids []peer.ID) []uint32 {
	numbers := []uint32{}
	for _, id := range ids {
		if number, ok := n.host.numberOf(id); ok {
			numbers = append(numbers, number)
		}
	}
	sort.Slice(numbers, func(i, j int) bool { return numbers[i] < numbers[j] })
	return numbers
}

func topicOptions(flags [2]bool) []pubsub.TopicOpt {
	options := []pubsub.TopicOpt{}
	if flags[0] {
		options = append(options, pubsub.RequestPartialMessages())
	}
	if flags[1] {
		options = append(options, pubsub.SupportsPartialMessages())
	}
	return options
}

// feedback: the router knows parts that are useful, and invalid ones. Others it is not told of.
func (n *node) feedback(topic string, number uint32, kind string) error {
	if !hasPartial(n.asked.Protocol) {
		return errors.New("its protocol has no partial messages")
	}
	id := n.host.idOf(number)
	switch kind {
	case "useful":
		return n.pubsub.PeerFeedback(topic, id, pubsub.PeerFeedbackUsefulMessage)
	case "invalid":
		return n.pubsub.PeerFeedback(topic, id, pubsub.PeerFeedbackInvalidMessage)
	}
	return nil
}

func (n *node) publishPartial(topic string, group []byte, decisions []decision) error {
	if !hasPartial(n.asked.Protocol) {
		return errors.New("its protocol has no partial messages")
	}
	// It returns what the application itself decided to fail with.
	_ = pubsub.PublishPartial(n.pubsub, topic, group, func(
		states map[peer.ID]peerState, wants func(peer.ID) bool,
	) iter.Seq2[peer.ID, partialmessages.PublishAction] {
		ids := []peer.ID{}
		for id := range states {
			ids = append(ids, id)
		}
		for _, number := range n.numbered(ids) {
			id := n.host.idOf(number)
			n.note(partialCall{
				Kind: "offer", Topic: topic, Group: group, Peer: number,
				State: given(states[id]), Requests: wants(id),
			})
		}
		return func(yield func(peer.ID, partialmessages.PublishAction) bool) {
			for _, each := range decisions {
				id := n.host.idOf(each.Peer)
				if n.host.conn(id) == nil {
					continue
				}
				if each.Next != nil {
					states[id] = each.Next
				}
				action := partialmessages.PublishAction{
					EncodedPartialMessage: each.Payload, EncodedPartsMetadata: each.Metadata,
				}
				if each.Error {
					action.Err = errors.New("the application failed to decide")
				}
				if !yield(id, action) {
					return
				}
			}
		}
	})
	return nil
}
