// A driver for quidnunc: requests on stdin, replies on stdout, one JSON object a line.
// As it stands the router does nothing. Each YOURS marks a place for your code.
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"os"
)

// Request has the keys of every request; which ones are set depends on Op. Bytes are base64 in JSON, and
// encoding/json decodes them.
type Request struct {
	Op         string         `json:"op"`
	Seed       int64          `json:"seed"`
	Protocol   string         `json:"protocol"`
	Parameters map[string]any `json:"parameters"`
	Peer       int            `json:"peer"`
	Outbound   bool           `json:"outbound"`
	Channel    int            `json:"channel"`
	Topic      string         `json:"topic"`
	Data       []byte         `json:"data"`
	Ms         int64          `json:"ms"`
}

// Hello says what the driver can do. Announce only what is true.
type Hello struct {
	Name         string   `json:"name"`
	Version      string   `json:"version"`
	Protocols    []string `json:"protocols"`
	Capabilities []string `json:"capabilities"`
	Format       int      `json:"format"`
}

// Reply says what the router did until it had nothing more to do at this instant.
type Reply struct {
	T         int64    `json:"t"`
	Out       [][3]any `json:"out,omitempty"`       // {peer, channel, RPC as []byte}
	Delivered [][2]any `json:"delivered,omitempty"` // {topic, data as []byte}
	Crashed   string   `json:"crashed,omitempty"`   // "TYPE in PLACE: words", without the bytes
}

// Driver holds your router and its virtual clock.
type Driver struct {
	now int64 // ms since init
}

func (d *Driver) answer(q Request) any {
	switch q.Op {
	case "init":
		// YOURS: build your router from q.Seed and q.Parameters, at time 0, without peers.
		*d = Driver{}
		return map[string]any{"again": true, "hello": Hello{
			Name: "my-router", Version: "0", Protocols: []string{"floodsub"}, Capabilities: []string{"clock"}, Format: 1,
		}}
	case "advance":
		// YOURS: fire each timer that is due on the way, at its own instant.
		d.now += q.Ms
	case "connect", "disconnect", "rpc", "join", "leave", "publish":
		// YOURS: hand the event to your router, wait until it is idle, and collect what it sent.
	default:
		return map[string]string{"error": q.Op + " is a request that it cannot do"}
	}
	return Reply{T: d.now}
}

func main() {
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	var driver Driver
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		var request Request
		if err := json.Unmarshal(line, &request); err != nil {
			log.Fatal(err)
		}
		if err := out.Encode(driver.answer(request)); err != nil {
			log.Fatal(err)
		}
	}
}
