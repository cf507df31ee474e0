package main

import (
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"sync"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"
)

// How far a peer id is looked for among the known keys, when the router dials someone not yet seen.
const peersMax = 4096

var errGone = errors.New("the connection is gone")

func keyOf(number uint32) crypto.PrivKey {
	seed := make([]byte, ed25519.SeedSize)
	binary.LittleEndian.PutUint32(seed, number)
	key, err := crypto.UnmarshalEd25519PrivateKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		panic(err)
	}
	return key
}

// What the router did since the last reply. Its goroutines write here while the bubble settles.
type record struct {
	mu        sync.Mutex
	out       [][3]any
	delivered [][2]any
	dials     []uint32
	closed    []uint32
	partial   []partialCall
	fault     string
}

func (h *fakeHost) idOf(number uint32) peer.ID {
	h.did.mu.Lock()
	defer h.did.mu.Unlock()
	if id, ok := h.ids[number]; ok {
		return id
	}
	id, err := peer.IDFromPrivateKey(keyOf(number))
	if err != nil {
		panic(err)
	}
	h.ids[number], h.numbers[id] = id, number
	return id
}

func (h *fakeHost) numberOf(id peer.ID) (uint32, bool) {
	h.did.mu.Lock()
	number, ok := h.numbers[id]
	h.did.mu.Unlock()
	for try := uint32(0); !ok && try < peersMax; try++ {
		if h.idOf(try) == id {
			return try, true
		}
	}
	return number, ok
}

// Connect: the router dials. Whether the peer answers is the kit's to say, by a connect request.
func (h *fakeHost) Connect(_ context.Context, to peer.AddrInfo) error {
	if number, ok := h.numberOf(to.ID); ok {
		h.did.mu.Lock()
		h.did.dials = append(h.did.dials, number)
		h.did.mu.Unlock()
	}
	return nil
}
