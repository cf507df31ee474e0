package main

import (
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
)

// parameters as `init` has them: model/parameters.py.
type parameters struct {
	D                           int              `json:"d"`
	DLow                        int              `json:"d_low"`
	DHigh                       int              `json:"d_high"`
	DScore                      int              `json:"d_score"`
	DOut                        int              `json:"d_out"`
	DLazy                       int              `json:"d_lazy"`
	GossipFactor                float64          `json:"gossip_factor"`
	HeartbeatIntervalMs         int64            `json:"heartbeat_interval_ms"`
	HeartbeatDelayMs            int64            `json:"heartbeat_delay_ms"`
	FanoutTTLMs                 int64            `json:"fanout_ttl_ms"`
	McacheLen                   int              `json:"mcache_len"`
	McacheGossip                int              `json:"mcache_gossip"`
	SeenTTLMs                   int64            `json:"seen_ttl_ms"`
	PruneBackoffS               int64            `json:"prune_backoff_s"`
	UnsubscribeBackoffS         int64            `json:"unsubscribe_backoff_s"`
	FloodPublish                bool             `json:"flood_publish"`
	GossipThreshold             float64          `json:"gossip_threshold"`
	PublishThreshold            float64          `json:"publish_threshold"`
	GraylistThreshold           float64          `json:"graylist_threshold"`
	OpportunisticGraftThreshold float64          `json:"opportunistic_graft_threshold"`
	OpportunisticGraftTicks     int              `json:"opportunistic_graft_ticks"`
	OpportunisticGraftPeers     int              `json:"opportunistic_graft_peers"`
	GossipRetransmission        int              `json:"gossip_retransmission"`
	MaxIhaveMessages            int              `json:"max_ihave_messages"`
	MaxIhaveLength              int              `json:"max_ihave_length"`
	MaxIdontwantMessages        int              `json:"max_idontwant_messages"`
	IdontwantMinBytes           int              `json:"idontwant_min_bytes"`
	IdontwantHeartbeats         int              `json:"idontwant_heartbeats"`
	TestExtension               bool             `json:"test_extension"`
	GroupTTLHeartbeats          int              `json:"group_ttl_heartbeats"`
	MaxGroupsPerTopic           int              `json:"max_groups_per_topic"`
	MaxGroupsPerPeer            int              `json:"max_groups_per_peer"`
	ExplicitPeers               []uint32         `json:"explicit_peers"`
	MessageID                   string           `json:"message_id"`
	SignaturePolicy             string           `json:"signature_policy"`
	Validation                  string           `json:"validation"`
	Scores                      *scoreParameters `json:"scores"`
	PrunePeers                  int              `json:"prune_peers"`
	AcceptPXThreshold           float64          `json:"accept_px_threshold"`
}

// scoreParameters: model/score_parameters.py.
type scoreParameters struct {
	Topics                      []topicParameters `json:"topics"`
	TopicScoreCap               float64           `json:"topic_score_cap"`
	AppSpecificWeight           float64           `json:"app_specific_weight"`
	IPColocationFactorWeight    float64           `json:"ip_colocation_factor_weight"`
	IPColocationFactorThreshold int               `json:"ip_colocation_factor_threshold"`
	BehaviourPenaltyWeight      float64           `json:"behaviour_penalty_weight"`
	BehaviourPenaltyDecay       float64           `json:"behaviour_penalty_decay"`
	DecayIntervalMs             int64             `json:"decay_interval_ms"`
	DecayToZero                 float64           `json:"decay_to_zero"`
	RetainScoreMs               int64             `json:"retain_score_ms"`
	IwantFollowupMs             int64             `json:"iwant_followup_ms"`
}

type topicParameters struct {
	Topic                             string  `json:"topic"`
	TopicWeight                       float64 `json:"topic_weight"`
	TimeInMeshWeight                  float64 `json:"time_in_mesh_weight"`
	TimeInMeshQuantumMs               int64   `json:"time_in_mesh_quantum_ms"`
	TimeInMeshCap                     float64 `json:"time_in_mesh_cap"`
	FirstMessageDeliveriesWeight      float64 `json:"first_message_deliveries_weight"`
	FirstMessageDeliveriesDecay       float64 `json:"first_message_deliveries_decay"`
	FirstMessageDeliveriesCap         float64 `json:"first_message_deliveries_cap"`
	MeshMessageDeliveriesWeight       float64 `json:"mesh_message_deliveries_weight"`
	MeshMessageDeliveriesDecay        float64 `json:"mesh_message_deliveries_decay"`
	MeshMessageDeliveriesCap          float64 `json:"mesh_message_deliveries_cap"`
	MeshMessageDeliveriesThreshold    float64 `json:"mesh_message_deliveries_threshold"`
	MeshMessageDeliveriesWindowMs     int64   `json:"mesh_message_deliveries_window_ms"`
	MeshMessageDeliveriesActivationMs int64   `json:"mesh_message_deliveries_activation_ms"`
	MeshFailurePenaltyWeight          float64 `json:"mesh_failure_penalty_weight"`
	MeshFailurePenaltyDecay           float64 `json:"mesh_failure_penalty_decay"`
	InvalidMessageDeliveriesWeight    float64 `json:"invalid_message_deliveries_weight"`
	InvalidMessageDeliveriesDecay     float64 `json:"invalid_message_deliveries_decay"`
}

// set makes these the defaults of the package, which a new router takes unchecked. WithGossipSubParams would
// refuse some that v1.1 allows: a D_out of D/2.
func (p *parameters) set() {
	pubsub.GossipSubD = p.D
	pubsub.GossipSubDlo = p.DLow
	pubsub.GossipSubDhi = p.DHigh
	pubsub.GossipSubDscore = p.DScore
	pubsub.GossipSubDout = p.DOut
	pubsub.GossipSubDlazy = p.DLazy
	pubsub.GossipSubGossipFactor = p.GossipFactor
	pubsub.GossipSubHeartbeatInterval = ms(p.HeartbeatIntervalMs)
	pubsub.GossipSubHeartbeatInitialDelay = ms(p.HeartbeatDelayMs)
	pubsub.GossipSubFanoutTTL = ms(p.FanoutTTLMs)
	pubsub.GossipSubHistoryLength = p.McacheLen
	pubsub.GossipSubHistoryGossip = p.McacheGossip
	pubsub.GossipSubPruneBackoff = time.Duration(p.PruneBackoffS) * time.Second
	pubsub.GossipSubUnsubscribeBackoff = time.Duration(p.UnsubscribeBackoffS) * time.Second
	pubsub.GossipSubOpportunisticGraftTicks = uint64(p.OpportunisticGraftTicks)
	pubsub.GossipSubOpportunisticGraftPeers = p.OpportunisticGraftPeers
	pubsub.GossipSubGossipRetransmission = p.GossipRetransmission
	pubsub.GossipSubMaxIHaveMessages = p.MaxIhaveMessages
	pubsub.GossipSubMaxIHaveLength = p.MaxIhaveLength
	pubsub.GossipSubMaxIDontWantMessages = p.MaxIdontwantMessages
	pubsub.GossipSubIDontWantMessageThreshold = p.IdontwantMinBytes
	pubsub.GossipSubIDontWantMessageTTL = p.IdontwantHeartbeats
	pubsub.GossipSubPrunePeers = p.PrunePeers
	pubsub.GossipSubIWantFollowupTime = 3 * time.Second
	if p.Scores != nil {
		pubsub.GossipSubIWantFollowupTime = ms(p.Scores.IwantFollowupMs)
	}
}
