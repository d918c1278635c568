package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sessions"
)

// The values of --input.
const (
	inputText = "text"
	inputJSON = "json"
)

// client is what sends lines of JSON: the program at standard input, the viewer's page, or both.
type client struct {
	asks         *protocol.Asks
	conversation *protocol.Conversation
	tell         func(attractor.Event) // of the Setup, once there is one
	program      bool                  // there is one at standard input
	viewer       *ownViewer            // nil without a page
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

// listen shows the client the events of the host, too. It returns the URL of the page, if there is
// one.
func (c *client) listen(setup *attractor.Setup, view *view) (url string) {
	setup.OnOwnEvent = view.showOwn
	c.conversation = protocol.New(setup, c.asks, keepRules)
	if c.viewer == nil {
		return ""
	}
	page := protocol.NewPage(setup)
	page.Serve(c.conversation.Do)
	return c.viewer.show(page)
}

// run runs the session until the client ends it. Without a program at standard input, the session
// ends with the prompt. A plain prompt is no command.
func (c *client) run(ctx context.Context, session *agent.Session, t terminal, prompt string, plain bool,
	images []llm.Part) (*agent.Result, error) {
	c.conversation.PlainPrompt = plain
	if !c.program {
		return c.conversation.Run(ctx, session, nil, prompt, images...)
	}
	if out, ok := t.out.(*os.File); ok {
		stop, err := watchReader(out, session.Abort)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	return c.conversation.Run(ctx, session, t.in, prompt, images...)
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
