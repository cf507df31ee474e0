package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	abcicli "github.com/cometbft/cometbft/v2/abci/client"
	abci "github.com/cometbft/cometbft/v2/abci/types"
	"github.com/cometbft/cometbft/v2/config"
	"github.com/cometbft/cometbft/v2/libs/metrics"
	"github.com/cometbft/cometbft/v2/mempool"
	"github.com/cometbft/cometbft/v2/p2p"
	"github.com/cometbft/cometbft/v2/proxy"
	"github.com/cometbft/cometbft/v2/types"
)

// parameters of a mempool, as `init` has them: model/parameters.py.
type parameters struct {
	Dog                bool     `json:"dog"`
	TargetRedundancy   float64  `json:"target_redundancy"`
	CacheSize          int      `json:"cache_size"`
	PoolSize           int      `json:"pool_size"`
	MaxPoolBytes       int64    `json:"max_pool_bytes"`
	MaxTxBytes         int      `json:"max_tx_bytes"`
	MaxPersistent      int      `json:"max_persistent"`
	MaxNonPersistent   int      `json:"max_non_persistent"`
	PersistentPeers    []uint32 `json:"persistent_peers"`
	UnconditionalPeers []uint32 `json:"unconditional_peers"`
}

// application finds a transaction valid unless it begins with these bytes, and puts all into one lane.
type application struct{ abci.BaseApplication }

var invalid = []byte("bad")

func (application) CheckTx(_ context.Context, asked *abci.CheckTxRequest) (*abci.CheckTxResponse, error) {
	if bytes.HasPrefix(asked.Tx, invalid) {
		return &abci.CheckTxResponse{Code: 1}, nil
	}
	return &abci.CheckTxResponse{Code: abci.CodeTypeOK}, nil
}

// node: the mempool of one node and its reactor, as released, on a switch that is given its peers.
type node struct {
	sw         *p2p.Switch
	reactor    *mempool.Reactor
	mempool    *mempool.CListMempool
	capacities map[byte]int
	height     int64

	routes, redundancy *gauge
	received           *counter
}

// newNode: `arrived`, where it is not nil, is told of each transaction that enters the pool.
func newNode(given *parameters, dog bool, interval time.Duration, arrived func(types.Tx)) (*node, error) {
	settings := config.DefaultMempoolConfig()
	settings.Size = given.PoolSize
	settings.CacheSize = given.CacheSize
	settings.MaxTxsBytes = given.MaxPoolBytes
	settings.MaxTxBytes = given.MaxTxBytes
	settings.ExperimentalMaxGossipConnectionsToPersistentPeers = given.MaxPersistent
	settings.ExperimentalMaxGossipConnectionsToNonPersistentPeers = given.MaxNonPersistent
	settings.DOGProtocolEnabled = dog
	settings.DOGTargetRedundancy = given.TargetRedundancy
	settings.DOGAdjustInterval = interval
	if err := settings.ValidateBasic(); err != nil {
		return nil, err
	}
	client := abcicli.NewLocalClient(nil, application{})
	if err := client.Start(); err != nil {
		return nil, err
	}
	n := &node{routes: &gauge{}, redundancy: &gauge{}, received: &counter{}}
	told := mempool.NopMetrics()
	told.DisabledRoutes, told.Redundancy, told.AlreadyReceivedTxs = n.routes, n.redundancy, n.received
	options := []mempool.CListMempoolOption{mempool.WithMetrics(told)}
	if arrived != nil {
		options = append(options, mempool.WithNewTxCallback(arrived))
	}
	n.mempool = mempool.NewCListMempool(
		settings, proxy.NewAppConnMempool(client, proxy.NopMetrics()), nil, 0, options...,
	)
	n.reactor = mempool.NewReactor(settings, n.mempool, false)
	n.capacities = capacitiesOf(n.reactor)
	// Never started: it neither listens nor dials, and has the peers that it is given.
	n.sw = p2p.NewSwitch(config.DefaultP2PConfig(), nil)
	n.sw.AddReactor("MEMPOOL", n.reactor)
	unconditional := []string{}
	for _, number := range given.UnconditionalPeers {
		unconditional = append(unconditional, string(idOf(number)))
	}
	if err := n.sw.AddUnconditionalPeerIDs(unconditional); err != nil {
		return nil, err
	}
	return n, n.reactor.Start()
}

// add: in the order of p2p's switch (addPeer).
func (n *node) add(p *fakePeer) error {
	n.reactor.InitPeer(p)
	if err := p.Start(); err != nil {
		return err
	}
	p2p.AddPeerToSwitchPeerSet(n.sw, p)
	n.reactor.AddPeer(p)
	return nil
}

func (n *node) stop() {
	n.sw.Peers().ForEach(func(p p2p.Peer) { _ = p.Stop() })
	_ = n.reactor.Stop()
}

// commit: a block has that transaction alone.
func (n *node) commit(tx types.Tx) error {
	n.height++
	n.mempool.Lock()
	defer n.mempool.Unlock()
	results := []*abci.ExecTxResult{{Code: abci.CodeTypeOK}}
	return n.mempool.Update(n.height, types.Txs{tx}, results, nil, nil)
}

// state: what can be seen from outside, and what the reactor's own metrics say.
func (n *node) state() map[string]any {
	pool, senders := []string{}, map[string][]string{}
	for _, tx := range n.mempool.ReapMaxTxs(-1) {
		key := fmt.Sprintf("%x", tx.Key())
		pool = append(pool, key)
		ids, _ := n.mempool.GetSenders(tx.Key())
		senders[key] = []string{}
		for _, id := range ids {
			senders[key] = append(senders[key], string(id))
		}
	}
	return map[string]any{
		"pool": pool, "senders": senders, "disabled_routes": n.routes.value, "redundancy": n.redundancy.value,
		"already_received_txs": n.received.value,
	}
}

type gauge struct{ value float64 }

func (g *gauge) With(...string) metrics.Gauge { return g }
func (g *gauge) Set(value float64)            { g.value = value }
func (g *gauge) Add(delta float64)            { g.value += delta }

type counter struct{ value float64 }

func (c *counter) With(...string) metrics.Counter { return c }
func (c *counter) Add(delta float64)              { c.value += delta }
