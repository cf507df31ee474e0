// What the drivers in Go have in common. It is compiled together with the files of one of them, which says what a
// request, a reply and a hello hold, its `name`, the `frame` of its router in a traceback, and how to `open` one.
//
// The router runs in a bubble of testing/synctest, so that its time is virtual and a request is answered when
// every goroutine of it waits. This process is two: the inner one has the router; the outer one waits for it,
// and says so on its behalf when the router has crashed.

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

const (
	inner = "QUIDNUNC_DRIVER_INNER"
	// The init that this process starts with, where another one has read it.
	pending = "QUIDNUNC_DRIVER_PENDING"
	// How long a router has to end its goroutines, some of which sleep. No real time.
	closing = time.Minute
)

// The report of a crash is written there; the outer process reads it.
var crash = os.NewFile(3, "crash")

// Requests read, and those of them that are answered.
var asked, answered atomic.Int64

// driven is a router with its neighbours.
type driven interface {
	hello() hello
	// answer does what is asked, and says what the router did when nothing is left to do at this instant.
	answer(request) (*reply, error)
	// now: milliseconds since its init.
	now() int64
	close()
}

type helloAnswer struct {
	Hello hello `json:"hello"`
	Again bool  `json:"again"`
}

type fault struct {
	Error string `json:"error"`
}

// run is the whole of `main`; `beside` runs outside the bubble, where time is real.
func run(beside ...func()) {
	if os.Getenv(inner) == "" {
		os.Exit(supervise())
	}
	// One thread of Go code at a time: goroutines run in the order in which they were made ready.
	runtime.GOMAXPROCS(1)
	if err := debug.SetCrashOutput(crash, debug.CrashOptions{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, each := range beside {
		go each()
	}
	bubble(func(t *testing.T) {
		lines := &lines{in: bufio.NewReaderSize(os.Stdin, 1<<16), out: bufio.NewWriterSize(os.Stdout, 1<<16)}
		next := []byte(os.Getenv(pending))
		if len(next) == 0 {
			next = lines.read()
		}
		for next != nil {
			synctest.Test(t, func(*testing.T) { next = converse(lines, next) })
		}
		os.Exit(0)
	})
}

func bubble(run func(*testing.T)) {
	testing.Main(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "router", F: run}}, nil, nil)
}

// converse serves one router, from its init on; the next init, or nil at the end.
func converse(lines *lines, first []byte) []byte {
	before := runtime.NumGoroutine()
	next := serveOne(lines, first)
	synctest.Wait()
	if runtime.NumGoroutine() > before {
		time.Sleep(closing)
		synctest.Wait()
	}
	if runtime.NumGoroutine() > before {
		startAnew(next)
	}
	return next
}

func serveOne(lines *lines, first []byte) []byte {
	var asked request
	if err := json.Unmarshal(first, &asked); err != nil {
		lines.write(fault{err.Error()})
		return lines.read()
	}
	if asked.Op != "init" || asked.Format != 1 {
		lines.write(fault{"the first request is init, of format 1"})
		return lines.read()
	}
	router, err := open(asked)
	if err != nil {
		lines.write(fault{err.Error()})
		return lines.read()
	}
	defer router.close()
	synctest.Wait()
	lines.write(helloAnswer{router.hello(), true})
	for {
		line := lines.read()
		if line == nil {
			return nil
		}
		asked = request{}
		if err := json.Unmarshal(line, &asked); err != nil {
			lines.write(fault{err.Error()})
			continue
		}
		if asked.Op == "init" {
			return line
		}
		answer, err := router.answer(asked)
		if err != nil {
			lines.write(fault{fmt.Sprintf("%s, %s at %d ms: %s", name, asked.Op, router.now(), err)})
			continue
		}
		lines.write(answer)
	}
}

// supervise runs the inner process on this one's stdin and stdout, and answers once the router has crashed. With
// the next init there is a new one.
func supervise() int {
	report, err := os.CreateTemp("", "quidnunc-"+name+"-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = os.Remove(report.Name())
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	lines := &lines{in: bufio.NewReaderSize(os.Stdin, 1<<16), out: bufio.NewWriterSize(os.Stdout, 1<<16)}
	for first := ""; ; {
		child := exec.Command(self)
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		child.Env = append(os.Environ(), inner+"=1", "GOTRACEBACK=single", pending+"="+first)
		child.ExtraFiles = []*os.File{report}
		if child.Run() == nil {
			return 0
		}
		_, _ = report.Seek(0, io.SeekStart)
		said, _ := io.ReadAll(report)
		if len(said) == 0 {
			return 1
		}
		if first = answerFor(lines, crashed(string(said))); first == "" {
			return 0
		}
		_ = report.Truncate(0)
		_, _ = report.Seek(0, io.SeekStart)
	}
}

// answerFor answers for a router that has crashed, up to the next init; that line, or nothing at the end.
func answerFor(lines *lines, crash string) string {
	for {
		lines.write(reply{Crashed: crash})
		line := lines.read()
		var asked request
		if line == nil || json.Unmarshal(line, &asked) == nil && asked.Op == "init" {
			return string(line)
		}
	}
}

var told = regexp.MustCompile(`(?m)^(?:panic|fatal error): (.*)$`)

// crashed puts a report of the runtime in the words of the seam: TYPE in PLACE: what it said.
func crashed(report string) string {
	said, kind, place := "it said nothing", "panic", name
	if found := told.FindStringSubmatch(report); found != nil {
		said = strings.TrimSuffix(found[1], " [recovered]")
	}
	if rest, ok := strings.CutPrefix(said, "runtime error: "); ok {
		kind, said = "runtime error", rest
	} else {
		// A router's own words may repeat what it was sent.
		said, _, _ = strings.Cut(said, ":")
	}
	if found := frame.FindStringSubmatch(report); found != nil {
		place = found[1][strings.LastIndex(found[1], "/")+1:]
	}
	if len(said) > 200 {
		said = said[:200]
	}
	return fmt.Sprintf("%s in %s: %s", kind, place, said)
}

// startAnew gives the next router a process of its own: some goroutine of the last one did not end.
func startAnew(next []byte) {
	if next == nil {
		os.Exit(0)
	}
	_ = os.Setenv(pending, string(next))
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, os.Args, os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// lines are the two ends of the conversation, one JSON object a line.
type lines struct {
	in  *bufio.Reader
	out *bufio.Writer
}

// read is nil at the end.
func (l *lines) read() []byte {
	line, err := l.in.ReadBytes('\n')
	if err != nil {
		return nil
	}
	asked.Add(1)
	return line
}

func (l *lines) write(answer any) {
	answered.Store(asked.Load())
	text, err := json.Marshal(answer)
	if err != nil {
		text, _ = json.Marshal(fault{err.Error()})
	}
	_, _ = l.out.Write(append(text, '\n'))
	if l.out.Flush() != nil {
		os.Exit(0)
	}
}
