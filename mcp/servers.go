package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/tool"
)

// Options holds the host's choices for servers. The functions may be called concurrently.
type Options struct {
	Servers []Server
	// Env returns the environment in which a server's process runs. The host closes it after
	// [Servers.Close].
	Env func(Server) (env.Environment, error)
	// HTTP returns the client that reaches a remote server and its authorization server. Nil stands
	// for [Network.Client].
	HTTP func(Server) (*http.Client, error)
	// Tokens keeps the users' logins at remote servers. Without it none is used.
	Tokens TokenStore
	// Secret is called with each token that is used, so that the host can mask it.
	Secret func(name, value string)
	// Mask returns a text without secrets. With it what servers say about themselves and their
	// tools has none; the host masks the results of calls. Nil leaves all as it is.
	Mask func(text string) string
	// Budget is how many bytes the definitions of the servers' tools may have together. Above it
	// all of them are deferred ([BudgetFor]). Zero means DefaultBudget; with a negative one they
	// are never deferred.
	Budget int
	// Pins remembers the definitions that people have seen. With them a session has the tools of a
	// server before it has started, and calls wait for it. Nil means that a session has the tools
	// of servers that have started, and that changes are not noticed across starts.
	Pins PinStore
	// Warn is told what went wrong with a server. It must return soon.
	Warn func(server string, err error)
	// Log gets the messages that servers log, ten a second of each server at most, and at level
	// debug each request to a server with its result, both cut to 16 KiB. Nil drops them.
	Log *slog.Logger
	// Answers says that somebody can answer a server's questions. Without it servers are told that
	// they cannot ask.
	Answers bool
}

// Servers holds the running servers of a host. Any number of sessions can share it. It is safe for
// concurrent use.
type Servers struct {
	o    Options
	list []*server // in the order of the configuration
	life context.Context
	end  context.CancelCauseFunc
	busy sync.WaitGroup

	mu      sync.Mutex
	defers  bool // the tools were more than the budget
	joined  map[*member]bool
	closing sync.Once
	closed  error
}

// errClosed ends everything in Close.
var errClosed = errors.New("the servers are closed")

// Start starts the servers side by side and returns at once. They end with Close; the end of ctx
// ends only the starting. A session gets them by two of its options, and tools that come and go
// later by [Servers.Join]:
//
//	options.Tools, options.Closers = servers.Tools(), []io.Closer{servers}
func Start(ctx context.Context, o Options) *Servers {
	s := &Servers{o: o, joined: map[*member]bool{}}
	s.life, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	names := serverNames(o.Servers)
	for i := range o.Servers {
		s.list = append(s.list, newServer(s, o.Servers[i], names[i]))
	}
	for _, one := range s.list {
		one.recall()
		s.busy.Go(func() { one.run(ctx) })
	}
	return s
}

// serverNames returns the names of servers in the names of their tools. The user's servers choose
// first: permission rules are about names, so no file of a project can change or take the name of
// one.
func serverNames(servers []Server) []string {
	names, taken := make([]string, len(servers)), map[string]bool{}
	for _, origin := range []Origin{User, Project} {
		var originals []string
		var at []int
		for i := range servers {
			if servers[i].Origin == origin {
				originals, at = append(originals, servers[i].Name), append(at, i)
			}
		}
		for n, name := range distinct(originals, maxServerName, taken, safeServer) {
			names[at[n]] = name
			taken[name] = true
		}
	}
	return names
}

// Ready waits until the required servers have listed their tools. The error names those that could
// not be started.
func (s *Servers) Ready(ctx context.Context) error {
	var errs []error
	for _, one := range s.list {
		switch {
		case !one.Required:
		case !one.await(ctx):
			return errors.Join(append(errs, fmt.Errorf("the required MCP server %s has not started: %w", one.Name,
				context.Cause(ctx)))...)
		case one.problem() != nil:
			errs = append(errs, fmt.Errorf("the required MCP server %s: %w", one.Name, one.problem()))
		}
	}
	return errors.Join(errs...)
}

// Await waits until each server has listed its tools or failed, at most for a limit, but not for
// those whose tools are known from an earlier start. It returns the names of those that are still
// starting.
func (s *Servers) Await(ctx context.Context, limit time.Duration) (starting []string) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, one := range s.list {
		if !one.known() && !one.await(ctx) {
			starting = append(starting, one.Name)
		}
	}
	return starting
}

// await waits until the server's first start is over. It reports false if the context ends before.
func (s *server) await(ctx context.Context) bool {
	select {
	case <-s.first:
		return true
	case <-ctx.Done():
		return false
	}
}

// Tools returns the tools of the servers that have started, and of those whose tools are known from
// an earlier start, in the order of the configuration and of the servers' lists. Above the budget
// they are deferred, and two tools find and call them.
func (s *Servers) Tools() []tool.Tool { return s.deferring(s.listing()) }

// listing returns the tools of the servers with where they come from.
func (s *Servers) listing() listing {
	var l listing
	add := func(server string, tools []tool.Tool) {
		for _, t := range tools {
			l.tools, l.servers = append(l.tools, t), append(l.servers, server)
		}
	}
	for _, one := range s.list {
		if one.AlwaysLoad {
			add("", one.current())
		} else {
			add(one.safe, one.current())
		}
	}
	add(resourcesLabel, s.resourceTools())
	return l
}

// Close ends all servers and returns when their processes and connections are gone. Running calls
// get error results.
func (s *Servers) Close() error {
	s.closing.Do(func() {
		s.end(errClosed)
		s.busy.Wait()
		for _, one := range s.list {
			s.closed = errors.Join(s.closed, one.closeErr)
		}
	})
	return s.closed
}

// starting reports whether a server is still about to start.
func (s *Servers) starting() bool {
	return slices.ContainsFunc(s.list, func(one *server) bool { return !isClosed(one.first) })
}

// isClosed reports whether a channel that nothing is sent on is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// warn tells the host what went wrong with a server.
func (s *Servers) warn(server string, err error) {
	if s.o.Warn == nil || err == nil {
		return
	}
	// A panic there has nobody who could be told.
	_ = guard.Run("Options.Warn", func() error { s.o.Warn(server, err); return nil })
}

// State says how far a server is.
type State string

// The states.
const (
	Starting  State = "starting"
	Connected State = "connected"
	Failed    State = "failed" // could not be started, or died too often
	Ended     State = "ended"  // died; the next call starts it again
)

// Status describes a server for people.
type Status struct {
	Server Server
	State  State
	Err    error // why it is not connected
	// Program holds what the server says of itself, and Protocol the version of the protocol that
	// it speaks.
	Program, Protocol string
	Instructions      string // untrusted text for the model
	Tools             []tool.Tool
	Took              time.Duration // to start
}

// Status returns the status of every server, in the order of the configuration.
func (s *Servers) Status() []Status {
	list := make([]Status, len(s.list))
	for i, one := range s.list {
		list[i] = one.status()
	}
	return list
}
