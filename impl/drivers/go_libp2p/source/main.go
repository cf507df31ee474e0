// A released go-libp2p-pubsub behind quidnunc's seam: JSON lines on stdin and stdout (seam.schema.json).

//go:debug randseednop=0
package main

import "regexp"

var frame = regexp.MustCompile(`(?m)^(\S*go-libp2p-pubsub\S*?)\((?:0x|\.\.\.|\{|\))`)

var _ driven = (*node)(nil)

func main() { run() }
