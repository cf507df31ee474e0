package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand"
	"sort"
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"
)

const name = "go-libp2p-pubsub"

// version of the module, set by the linker.
var version string

const (
	// Of messages that wait for a verdict at a time.
	waitingMax = 100_000
	// Of messages that the application has not read, and of one RPC's that wait for their signatures.
	queueMax = 1 << 14
	floodsub = protocol.ID("/floodsub/1.0.0")
)

// spoken: the streams, the oldest first, and the protocol of the kit for which each is the newest. There is none for
// v1.0: to a peer of v1.0 too the release keeps backoffs and ignores a GRAFT of an unknown topic, as v1.1 has it.
var spoken = append([]struct {
	protocol string
	stream   protocol.ID
}{
	{"floodsub", floodsub},
	{"", "/meshsub/1.0.0"},
	{"gossipsub-1.1", "/meshsub/1.1.0"},
	{"gossipsub-1.2", "/meshsub/1.2.0"},
}, spokenSince...)

type node struct {
	asked  request
	own    uint32
	host   *fakeHost
	pubsub *pubsub.PubSub
	ctx    context.Context
	cancel context.CancelFunc
	start  time.Time

	topics        map[string]*pubsub.Topic
	flags         map[string][2]bool
	subscriptions map[string]*pubsub.Subscription
	// Peers that the router hung up on, until they are disconnected or connected anew.
	left map[uint32]bool

	mu      sync.Mutex
	scores  map[peer.ID]float64
	waiting map[string]*verdict
}

// verdict: copies of one message wait for the same.
type verdict struct {
	made   chan struct{}
	result pubsub.ValidationResult
}

func open(asked request) (*node, error) {
	if asked.Parameters == nil {
		return nil, errors.New("it is a pubsub router, and takes parameters, not those of a mempool")
	}
	// What the release draws, and what the libraries under it draw.
	rand.Seed(asked.Seed)
	streams := streamsOf(asked.Protocol)
	if streams == nil {
		return nil, fmt.Errorf("go-libp2p-pubsub %s does not speak %q", version, asked.Protocol)
	}
	did := &record{}
	h, err := newHost(asked.Identity, did)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{
		asked: asked, own: asked.Identity, host: h, ctx: ctx, cancel: cancel, start: time.Now(),
		topics: map[string]*pubsub.Topic{}, flags: map[string][2]bool{},
		subscriptions: map[string]*pubsub.Subscription{}, left: map[uint32]bool{},
		scores: map[peer.ID]float64{}, waiting: map[string]*verdict{},
	}
	options := n.options()
	if asked.Protocol == "floodsub" {
		n.pubsub, err = pubsub.NewFloodsubWithProtocols(ctx, h, streams, options...)
	} else {
		asked.Parameters.set()
		n.pubsub, err = pubsub.NewGossipSub(ctx, h, append(options, n.gossipOptions(streams)...)...)
	}
	if err != nil {
		n.close()
		return nil, fmt.Errorf("go-libp2p-pubsub %s refuses these parameters: %w", version, err)
	}
	return n, nil
}

func (n *node) close() {
	n.cancel()
	_ = n.host.store.Close()
}

func (n *node) now() int64 { return time.Since(n.start).Milliseconds() }

// streamsOf: what a router of this protocol offers its peers, the best first.
func streamsOf(wanted string) []protocol.ID {
	streams := []protocol.ID{}
	for _, each := range spoken {
		if len(streams) == 0 || streams[0] != each.stream {
			streams = append([]protocol.ID{each.stream}, streams...)
		}
		if each.protocol == wanted && wanted != "" {
			return streams
		}
	}
	return nil
}

func (n *node) hello() hello {
	can := []string{
		"clock", "state", "verdict", "stall", "raw", "identity", "strict-no-sign",
		"rsa-keys", "secp256k1-keys", "ecdsa-keys",
	}
	switched := map[string][]string{
		"it lets 100,000 messages wait for a verdict at a time, and checks signatures in order": {
			"gs1.1/validation.*", "pubsub/validation.*",
		},
	}
	if n.asked.Protocol != "floodsub" {
		can = append(can, extensions(n.asked.Protocol)...)
		can = append(can, "flood-publish", "score", "explicit", "score-parameters", "peer-exchange")
		switched["it sets the thresholds of scores, which are off by default"] = []string{
			"gs1.1/threshold.*", "gs1.1/score.*",
		}
		switched["it sets D_out and times of scores without the release's check of them"] = []string{
			"gs1.1/outbound.*", "gs1.1/score.*",
		}
	}
	protocols := []string{}
	for _, each := range spoken {
		if each.protocol != "" {
			protocols = append(protocols, each.protocol)
		}
	}
	return hello{
		Name: name, Version: version, Protocols: protocols, Capabilities: can,
		Switched: switched, Format: 1,
	}
}

// options that every router takes.
func (n *node) options() []pubsub.Option {
	p := n.asked.Parameters
	options := []pubsub.Option{
		pubsub.WithMessageIdFn(idFunction(p.MessageID)),
		pubsub.WithSeenMessagesTTL(ms(p.SeenTTLMs)),
		pubsub.WithValidateQueueSize(queueMax),
		pubsub.WithValidateThrottle(waitingMax),
		pubsub.WithValidateWorkers(1),
	}
	if p.SignaturePolicy == "StrictNoSign" {
		options = append(options, pubsub.WithMessageSignaturePolicy(pubsub.StrictNoSign), pubsub.WithNoAuthor())
	}
	if p.Validation == "manual" {
		validator := pubsub.WithDefaultValidator(n.validate, pubsub.WithValidatorConcurrency(waitingMax))
		options = append(options, validator)
	}
	return options
}

// gossipOptions are those of gossipsub.
func (n *node) gossipOptions(streams []protocol.ID) []pubsub.Option {
	p := n.asked.Parameters
	params, lift := liftedToSecond(n.scoreParams())
	options := []pubsub.Option{
		pubsub.WithGossipSubProtocols(streams, pubsub.GossipSubDefaultFeatures),
		pubsub.WithFloodPublish(p.FloodPublish),
		pubsub.WithPeerExchange(p.PrunePeers > 0),
		pubsub.WithPeerScore(params, &pubsub.PeerScoreThresholds{
			GossipThreshold:             p.GossipThreshold,
			PublishThreshold:            p.PublishThreshold,
			GraylistThreshold:           p.GraylistThreshold,
			AcceptPXThreshold:           p.AcceptPXThreshold,
			OpportunisticGraftThreshold: p.OpportunisticGraftThreshold,
		}),
		lift,
	}
	direct := []peer.AddrInfo{}
	for _, number := range p.ExplicitPeers {
		direct = append(direct, peer.AddrInfo{ID: n.host.idOf(number)})
	}
	if len(direct) > 0 {
		options = append(options, pubsub.WithDirectPeers(direct))
	}
	return append(options, n.extensionOptions()...)
}

func (n *node) scoreParams() *pubsub.PeerScoreParams {
	params := &pubsub.PeerScoreParams{
		Topics:            map[string]*pubsub.TopicScoreParams{},
		AppSpecificScore:  n.scoreOf,
		AppSpecificWeight: 1,
		DecayInterval:     time.Second,
		DecayToZero:       0.01,
	}
	given := n.asked.Parameters.Scores
	if given == nil {
		return params
	}
	params.AppSpecificWeight = given.AppSpecificWeight
	params.TopicScoreCap = given.TopicScoreCap
	params.IPColocationFactorWeight = given.IPColocationFactorWeight
	params.IPColocationFactorThreshold = given.IPColocationFactorThreshold
	params.BehaviourPenaltyWeight = given.BehaviourPenaltyWeight
	params.BehaviourPenaltyDecay = given.BehaviourPenaltyDecay
	params.DecayInterval = ms(given.DecayIntervalMs)
	params.DecayToZero = given.DecayToZero
	params.RetainScore = ms(given.RetainScoreMs)
	params.SeenMsgTTL = ms(n.asked.Parameters.SeenTTLMs)
	for _, t := range given.Topics {
		params.Topics[t.Topic] = &pubsub.TopicScoreParams{
			TopicWeight:                     t.TopicWeight,
			TimeInMeshWeight:                t.TimeInMeshWeight,
			TimeInMeshQuantum:               ms(t.TimeInMeshQuantumMs),
			TimeInMeshCap:                   t.TimeInMeshCap,
			FirstMessageDeliveriesWeight:    t.FirstMessageDeliveriesWeight,
			FirstMessageDeliveriesDecay:     t.FirstMessageDeliveriesDecay,
			FirstMessageDeliveriesCap:       t.FirstMessageDeliveriesCap,
			MeshMessageDeliveriesWeight:     t.MeshMessageDeliveriesWeight,
			MeshMessageDeliveriesDecay:      t.MeshMessageDeliveriesDecay,
			MeshMessageDeliveriesCap:        t.MeshMessageDeliveriesCap,
			MeshMessageDeliveriesThreshold:  t.MeshMessageDeliveriesThreshold,
			MeshMessageDeliveriesWindow:     ms(t.MeshMessageDeliveriesWindowMs),
			MeshMessageDeliveriesActivation: ms(t.MeshMessageDeliveriesActivationMs),
			MeshFailurePenaltyWeight:        t.MeshFailurePenaltyWeight,
			MeshFailurePenaltyDecay:         t.MeshFailurePenaltyDecay,
			InvalidMessageDeliveriesWeight:  t.InvalidMessageDeliveriesWeight,
			InvalidMessageDeliveriesDecay:   t.InvalidMessageDeliveriesDecay,
		}
	}
	return params
}

// liftedToSecond: the release refuses times below a second that v1.1 allows. It is given a second, and by the
// option that follows what was asked for.
func liftedToSecond(params *pubsub.PeerScoreParams) (*pubsub.PeerScoreParams, pubsub.Option) {
	decay, activations := params.DecayInterval, map[string]time.Duration{}
	params.DecayInterval = max(decay, time.Second)
	for topic, t := range params.Topics {
		activations[topic] = t.MeshMessageDeliveriesActivation
		t.MeshMessageDeliveriesActivation = max(t.MeshMessageDeliveriesActivation, time.Second)
	}
	return params, func(*pubsub.PubSub) error {
		params.DecayInterval = decay
		for topic, activation := range activations {
			params.Topics[topic].MeshMessageDeliveriesActivation = activation
		}
		return nil
	}
}

func idFunction(which string) func(*pb.Message) string {
	switch which {
	case "content":
		return func(m *pb.Message) string {
			digest := sha256.Sum256(m.GetData())
			return string(digest[:])
		}
	case "hex":
		return func(m *pb.Message) string {
			digest := sha256.Sum256(m.GetData())
			return hex.EncodeToString(digest[:])
		}
	default:
		return pubsub.DefaultMsgIdFn
	}
}

func (n *node) score(number uint32, value float64) {
	id := n.host.idOf(number)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.scores[id] = value
}

func (n *node) scoreOf(id peer.ID) float64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.scores[id]
}

// validate waits for the application's verdict. What the application itself publishes, it has judged.
func (n *node) validate(ctx context.Context, from peer.ID, m *pubsub.Message) pubsub.ValidationResult {
	if from == n.host.id {
		return pubsub.ValidationAccept
	}
	id := idFunction(n.asked.Parameters.MessageID)(m.Message)
	n.mu.Lock()
	waits := n.waiting[id]
	if waits == nil {
		waits = &verdict{made: make(chan struct{}), result: pubsub.ValidationIgnore}
		n.waiting[id] = waits
	}
	n.mu.Unlock()
	select {
	case <-waits.made:
	case <-ctx.Done():
	}
	return waits.result
}

// judge: a verdict on a message that waits for none is without effect, as the router may have dropped it.
func (n *node) judge(id, judgement string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	waits := n.waiting[id]
	if waits == nil {
		return
	}
	delete(n.waiting, id)
	switch judgement {
	case "accept":
		waits.result = pubsub.ValidationAccept
	case "reject":
		waits.result = pubsub.ValidationReject
	}
	close(waits.made)
}

func (n *node) topic(name string, flags [2]bool) (*pubsub.Topic, error) {
	if held := n.topics[name]; held != nil {
		if n.flags[name] == flags || n.subscriptions[name] != nil {
			return held, nil
		}
		if err := held.Close(); err != nil {
			return nil, err
		}
	}
	made, err := n.pubsub.Join(name, topicOptions(flags)...)
	if err == nil {
		n.topics[name], n.flags[name] = made, flags
	}
	return made, err
}

func (n *node) join(name string, requests, supports bool) error {
	if n.subscriptions[name] != nil {
		return nil
	}
	topic, err := n.topic(name, [2]bool{requests, supports})
	if err != nil {
		return err
	}
	sub, err := topic.Subscribe(pubsub.WithBufferSize(queueMax))
	if err != nil {
		return err
	}
	n.subscriptions[name] = sub
	go func() {
		for {
			m, err := sub.Next(n.ctx)
			if err != nil {
				return
			}
			n.host.did.mu.Lock()
			n.host.did.delivered = append(n.host.did.delivered, [2]any{m.GetTopic(), append([]byte{}, m.GetData()...)})
			n.host.did.mu.Unlock()
		}
	}()
	return nil
}

func (n *node) publish(name string, data []byte) error {
	topic := n.topics[name]
	if topic == nil {
		var err error
		if topic, err = n.topic(name, [2]bool{}); err != nil {
			return err
		}
	}
	// It may refuse: a message that is too large, or a duplicate. That shows in what is not sent.
	_ = topic.Publish(n.ctx, data)
	return nil
}

// state: `topics`, `peers` and `waiting` message ids in hexadecimal. Its mesh is private.
func (n *node) state() map[string]any {
	peers, waiting := []int{}, []string{}
	for _, id := range n.pubsub.ListPeers("") {
		if number, ok := n.host.numbers[id]; ok {
			peers = append(peers, int(number))
		}
	}
	n.mu.Lock()
	for id := range n.waiting {
		waiting = append(waiting, hex.EncodeToString([]byte(id)))
	}
	n.mu.Unlock()
	topics := append([]string{}, n.pubsub.GetTopics()...)
	sort.Ints(peers)
	sort.Strings(waiting)
	sort.Strings(topics)
	return map[string]any{"topics": topics, "peers": peers, "waiting": waiting}
}

func ms(value int64) time.Duration { return time.Duration(value) * time.Millisecond }

func framed(data []byte) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(data))), data...)
}
