package web

import (
	"context"
	"encoding/json"
	"iter"
)

// Own is a session of this process, which the page can steer. Its methods are safe for concurrent
// use.
type Own interface {
	// Live yields the live state of the session, which is not in the journal, as JSON events: first
	// a LIVE with all that is open, which replaces what the reader knows, and then the changes. A
	// slow reader misses some and gets another LIVE. The sequence ends with ctx or the session. The
	// session never waits for a reader.
	Live(ctx context.Context) iter.Seq[json.RawMessage]
}

// Doer is an Own that carries out lines of the page.
type Doer interface {
	Own
	// Do carries out one line of docs/protocol.md and returns the reply, a JSON object with ok, and
	// with error, queued, status, text or plan. It waits as long as the line takes, such as for a
	// hook, but not longer than ctx.
	Do(ctx context.Context, line []byte) json.RawMessage
}
