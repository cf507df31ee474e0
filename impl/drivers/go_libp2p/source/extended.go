package main

import (
	"errors"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// A release with the extensions of v1.3.

var spokenSince = []struct {
	protocol string
	stream   protocol.ID
}{{"gossipsub-1.3", "/meshsub/1.3.0"}}

func extensions(protocol string) []string {
	if protocol == "gossipsub-1.3" {
		return []string{"test-extension"}
	}
	return nil
}

func (n *node) extensionOptions() []pubsub.Option {
	if n.asked.Protocol != "gossipsub-1.3" || !n.asked.Parameters.TestExtension {
		return nil
	}
	return []pubsub.Option{pubsub.WithTestExtension(pubsub.TestExtensionConfig{})}
}

func topicOptions([2]bool) []pubsub.TopicOpt { return nil }

func (n *node) publishPartial(string, []byte, []decision) error {
	return errors.New("the driver has no partial messages yet")
}
