// The mempool reactor of a released CometBFT behind quidnunc's seam: JSON lines on stdin and stdout (seam.schema.json).

package main

import (
	"os"
	"regexp"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

const name = "cometbft"

var frame = regexp.MustCompile(`(?m)^(\S*cometbft/cometbft\S*?)\((?:0x|\.\.\.|\{|\))`)

var _ driven = (*router)(nil)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "network" {
		runtime.GOMAXPROCS(1)
		bubble(func(t *testing.T) { synctest.Test(t, runNetwork) })
	}
	run(endSpinning)
}

// A reactor that works on without end for one request is a fault of it, and never comes to rest.
const (
	spinningMax = 3 * time.Second / 2
	lookEvery   = 500 * time.Millisecond
)

// endSpinning ends the process when one request has taken so much time of the processor. It is outside the
// bubble, where time is real.
func endSpinning() {
	before, pending := spent(), int64(0)
	for {
		time.Sleep(lookEvery)
		if now := asked.Load(); now == answered.Load() || now != pending {
			before, pending = spent(), now
		} else if spent()-before > spinningMax {
			panic("it does not come to rest")
		}
	}
}

// spent: time of the processor.
func spent() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
