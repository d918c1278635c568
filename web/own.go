package web

import (
	"context"
	"encoding/json"
	"iter"
)

// Own is a session of this process, which the page can steer. Its methods are safe for concurrent
// use.
type Own interface {
	// Live returns what is not in the journal yet or never will be, as JSON events: first a LIVE
	// that has all that is open, which replaces what the reader knows, and then the changes. A
	// reader that is slow misses some and gets another LIVE. The sequence ends with ctx or the
	// session. No reader holds the session up.
	Live(ctx context.Context) iter.Seq[json.RawMessage]
}

// Doer is an Own that takes what the page sends.
type Doer interface {
	Own
	// Do carries out one line of docs/protocol.md and returns what becomes of it, a JSON object
	// with ok, and with error, queued, status, text or plan. It waits as long as the line takes, such as for a
	// hook, but not longer than ctx.
	Do(ctx context.Context, line []byte) json.RawMessage
}
