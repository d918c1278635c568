package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/sessions"
)

// The values of --input.
const (
	inputText = "text"
	inputJSON = "json"
)

// client is what sends lines of JSON: the program at standard input, the viewer's page, or both.
type client struct {
	asks    *protocol.Asks
	tell    func(attractor.Event) // of the Setup, once there is one
	program bool                  // there is one at standard input
	viewer  *ownViewer            // nil without a page
}

// newClient returns a client that answers within a time, or 0 for any.
func newClient(program bool, limit time.Duration) *client {
	c := &client{program: program}
	c.asks = protocol.NewAsks(func(ev attractor.Event) { c.tell(ev) }, render.Question)
	c.asks.SetLimit(limit)
	return c
}

// join makes the client the one that a session asks. A model call that fails ends only its input if
// a program can continue.
func (c *client) join(setup *attractor.Setup) {
	c.tell = setup.Tell
	setup.Options.Questions = &agent.Questions{Answer: c.asks.Question}
	if c.program {
		setup.Options.OnFailure = agent.StayOnFailure
	}
}

// listen lets the client steer a session, and shows it the events of the host, too.
func (c *client) listen(r *runner, view *view) {
	r.OnOwnEvent = view.showOwn
	r.lines = protocol.New(r.Setup, c.asks, keepRules)
	if c.viewer == nil {
		return
	}
	page := protocol.NewPage(r.Setup)
	page.Serve(r.lines.Do)
	fmt.Fprintln(r.err, "This session in a browser: "+c.viewer.show(page))
}

// input returns what has the lines of the program, nil if there is none. It ends the session when
// nobody reads what that prints.
func (c *client) input(t terminal, session *agent.Session) (in io.Reader, stop func(), err error) {
	if c == nil || !c.program {
		return nil, func() {}, nil
	}
	if out, ok := t.out.(*os.File); ok {
		stop, err = watchReader(out, session.Abort)
		return t.in, stop, err
	}
	return t.in, func() {}, nil
}

// ended says where the session can be seen when the page has ended with it.
func (c *client) ended(t terminal, id string) {
	if c != nil && c.viewer != nil {
		fmt.Fprintf(t.err, "To see the session in a browser again, run: attractor view %s\n", sessions.ShortID(id))
	}
}

// close ends the page.
func (c *client) close() {
	if c != nil && c.viewer != nil {
		_ = c.viewer.Close() // there is nothing left to be served
	}
}
