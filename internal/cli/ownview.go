package cli

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/web"
)

// viewFlag holds the flag of commands whose session a page can steer.
type viewFlag struct{ view bool }

func (f *viewFlag) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.view, "view", false,
		"show the session in a browser, where you can steer it and answer its questions; the URL goes to "+
			"standard error")
}

// check returns an error if there is nothing that a page could show.
func (f *viewFlag) check(kept bool) error {
	if f.view && !kept {
		return fail(exitUsage, "--view shows what the session's journal has, so it cannot be used with --no-journal")
	}
	return nil
}

// ownViewer serves the page for a session of this process, one after the other, as long as the
// process has any.
type ownViewer struct {
	server   *web.Server
	listener net.Listener
	page     atomic.Pointer[protocol.Page] // of the newest session
	end      context.CancelFunc
	ended    chan error
}

// openOwnViewer begins to serve. The caller must close the viewer.
func openOwnViewer(ctx context.Context, store journal.Store) (*ownViewer, error) {
	v := &ownViewer{ended: make(chan error, 1)}
	options := viewerOptions(store, environmentSecrets())
	options.Own = v.own
	v.server = web.New(options)
	var err error
	if v.listener, err = web.Listen(ctx, 0); err != nil {
		return nil, fail(exitFailed, "--view: %w", err)
	}
	ctx, v.end = context.WithCancel(context.WithoutCancel(ctx))
	go func() { v.ended <- v.server.Serve(ctx, v.listener) }()
	return v, nil
}

// own returns the session of an id if the page may steer it.
func (v *ownViewer) own(id string) web.Own {
	if p := v.page.Load(); p != nil && p.SessionID() == id && !p.Ended() {
		return p
	}
	return nil
}

// show shows a session, and returns the URL of its page.
func (v *ownViewer) show(page *protocol.Page) (url string) {
	v.page.Store(page)
	return v.server.URL(v.listener, page.SessionID())
}

// open shows a session that a person has at a terminal, and returns what they should know.
func (v *ownViewer) open(page *protocol.Page) string {
	return fmt.Sprintf("This session in a browser: %s\n", v.show(page))
}

// Close ends the page.
func (v *ownViewer) Close() error {
	v.end()
	return <-v.ended
}
