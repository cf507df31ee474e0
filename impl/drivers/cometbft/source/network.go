package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cosmos/gogoproto/proto"

	protomem "github.com/cometbft/cometbft/api/cometbft/mempool/v2"
	"github.com/cometbft/cometbft/v2/mempool"
	"github.com/cometbft/cometbft/v2/types"
)

// network: reactors in one process, each with a controller on its own timer, and links that delay.
type network struct {
	Nodes int `json:"nodes"`
	// [one, another, ms]: the latency each way.
	Edges      [][3]int64 `json:"edges"`
	Dog        parameters `json:"dog"`
	IntervalMs int64      `json:"interval_ms"`
	// [ms, node]: when a user submits a transaction, and where; in order of time.
	Traffic [][2]int64 `json:"traffic"`
	UntilMs int64      `json:"until_ms"`
}

// figures: by transaction, how many nodes had it in the end, and how many copies of it were received; the
// control messages sent in each minute; what each node's own metrics say in the end.
type figures struct {
	Reached    []int      `json:"reached"`
	Copies     []int      `json:"copies"`
	HaveTx     []int      `json:"have_tx"`
	ResetRoute []int      `json:"reset_route"`
	Missed     [][2]int   `json:"missed"`
	Redundancy []float64  `json:"redundancy"`
	Routes     []float64  `json:"disabled_routes"`
	Latencies  [][]uint16 `json:"latencies_ms"`
}

// links of one direction keep their order.
type link struct {
	latency time.Duration
	to      *node
	as      *fakePeer
	mu      sync.Mutex
	queue   []onWire
	more    chan struct{}
	gone    chan struct{}
}

type onWire struct {
	due     time.Time
	channel byte
	data    []byte
}

// runNetwork reads a network from stdin, and writes the figures of its run to stdout.
func runNetwork(*testing.T) {
	given := network{}
	err := json.NewDecoder(os.Stdin).Decode(&given)
	if err == nil {
		var found *figures
		if found, err = given.run(); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(found)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Goroutines of the reactors that have not ended go with the process.
	os.Exit(0)
}

func (g *network) run() (*figures, error) {
	var start time.Time
	seen := &figures{
		Reached: make([]int, len(g.Traffic)), Copies: make([]int, len(g.Traffic)),
		HaveTx: make([]int, g.UntilMs/60_000+1), ResetRoute: make([]int, g.UntilMs/60_000+1),
		Latencies: make([][]uint16, len(g.Traffic)),
	}
	var mu sync.Mutex
	had := make([]map[int]bool, len(g.Traffic))
	for tx := range had {
		had[tx] = map[int]bool{}
	}
	nodes := []*node{}
	interval := time.Duration(g.IntervalMs) * time.Millisecond
	for number := range g.Nodes {
		// As nodes that were started apart, their timers are out of step.
		time.Sleep(interval / time.Duration(g.Nodes))
		made, err := newNode(&g.Dog, g.Dog.Dog, interval, func(tx types.Tx) {
			mu.Lock()
			defer mu.Unlock()
			index := indexOf(tx)
			had[index][number] = true
			late := time.Since(start).Milliseconds() - g.Traffic[index][0]
			seen.Latencies[index] = append(seen.Latencies[index], uint16(min(late, 1<<16-1)))
		})
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, made)
	}
	start = time.Now()
	gone := make(chan struct{})
	observe := func(channel byte, data []byte) {
		mu.Lock()
		defer mu.Unlock()
		minute := time.Since(start).Milliseconds() / 60_000
		message := &protomem.Message{}
		if channel == mempool.MempoolControlChannel && len(data) > 32 {
			seen.HaveTx[minute]++
		} else if channel == mempool.MempoolControlChannel {
			seen.ResetRoute[minute]++
		} else if proto.Unmarshal(data, message) == nil {
			for _, tx := range message.GetTxs().Txs {
				seen.Copies[indexOf(tx)]++
			}
		}
	}
	for _, edge := range g.Edges {
		if err := connect(nodes, edge, observe, gone); err != nil {
			return nil, err
		}
	}
	for index, planned := range g.Traffic {
		time.Sleep(time.Until(start.Add(time.Duration(planned[0]) * time.Millisecond)))
		_, _ = nodes[planned[1]].reactor.TryAddTx(types.Tx(fmt.Sprintf("x%dt\n", index)), nil)
	}
	time.Sleep(time.Until(start.Add(time.Duration(g.UntilMs) * time.Millisecond)))
	synctest.Wait()
	for index := range g.Traffic {
		seen.Reached[index] = len(had[index])
		for number := range g.Nodes {
			if !had[index][number] {
				seen.Missed = append(seen.Missed, [2]int{index, number})
			}
		}
	}
	for _, each := range nodes {
		seen.Redundancy = append(seen.Redundancy, each.redundancy.value)
		seen.Routes = append(seen.Routes, each.routes.value)
		each.stop()
	}
	close(gone)
	return seen, nil
}

func indexOf(tx []byte) int {
	index, _ := strconv.Atoi(strings.Trim(string(tx), "xt\n"))
	return index
}

// connect: each of the two has the other as its peer.
func connect(nodes []*node, edge [3]int64, observe func(byte, []byte), gone chan struct{}) error {
	ways := [2]*link{}
	for way := range ways {
		ways[way] = &link{
			latency: time.Duration(edge[2]) * time.Millisecond, to: nodes[edge[1-way]],
			more: make(chan struct{}, 1), gone: gone,
		}
	}
	peers := [2]*fakePeer{}
	for way := range ways {
		carries := ways[way]
		peers[way] = newPeer(uint32(edge[1-way])+1, func(channel byte, data []byte) error {
			observe(channel, data)
			carries.send(channel, data)
			return nil
		}, func() {})
	}
	for way := range ways {
		// Who receives on this way knows the sender as its own peer.
		ways[way].as = peers[1-way]
		go ways[way].carry()
		if err := nodes[edge[way]].add(peers[way]); err != nil {
			return err
		}
	}
	return nil
}

func (l *link) send(channel byte, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, onWire{time.Now().Add(l.latency), channel, data})
	select {
	case l.more <- struct{}{}:
	default:
	}
}

func (l *link) carry() {
	for {
		l.mu.Lock()
		arrived := l.queue
		l.queue = nil
		l.mu.Unlock()
		for _, each := range arrived {
			time.Sleep(time.Until(each.due))
			l.to.receive(l.as, each.channel, each.data)
		}
		if len(arrived) > 0 {
			continue
		}
		select {
		case <-l.more:
		case <-l.gone:
			return
		}
	}
}
