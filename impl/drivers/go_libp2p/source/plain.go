package main

import (
	"errors"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/protocol"
)

// A release without the extensions of v1.3.

var spokenSince []struct {
	protocol string
	stream   protocol.ID
}

func extensions(string) []string { return nil }

func (n *node) extensionOptions() []pubsub.Option { return nil }

func topicOptions([2]bool) []pubsub.TopicOpt { return nil }

func (n *node) feedback(string, uint32, string) error {
	return errors.New("this release has no partial messages")
}

func (n *node) publishPartial(string, []byte, []decision) error {
	return errors.New("this release has no partial messages")
}
