package cli

import (
	"context"
	"os"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm"
)

// The values of --input.
const (
	inputText = "text"
	inputJSON = "json"
)

// client is the program that sends lines of JSON and gets events.
type client struct {
	asks         *host.Inbox
	conversation *protocol.Conversation
	tell         func(host.Event) // of the Setup, once there is one
}

// newClient returns a client that answers within a time, or 0 for any.
func newClient(limit time.Duration) *client {
	c := new(client)
	c.asks = host.NewInbox(func(ev host.Event) { c.tell(ev) }, render.Question)
	c.asks.SetLimit(limit)
	return c
}

// join makes the client the one that a session asks. A model call that fails ends only its input.
func (c *client) join(setup *host.Setup) {
	c.tell = setup.Tell
	setup.Options.Questions = &agent.Questions{Answer: c.asks.Question}
	setup.Options.OnFailure = agent.StayOnFailure
}

// listen shows the client the events of the host, too.
func (c *client) listen(setup *host.Setup, view *view) {
	setup.OnOwnEvent = view.showOwn
	c.conversation = protocol.New(setup, c.asks, keepRules)
}

// run runs the session until the client has enough of it.
func (c *client) run(ctx context.Context, session *agent.Session, t terminal, prompt string, images []llm.Part) (*agent.Result, error) {
	if out, ok := t.out.(*os.File); ok {
		stop, err := watchReader(out, session.Abort)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	return c.conversation.Run(ctx, session, t.in, prompt, images...)
}
