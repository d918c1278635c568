package doors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// offers has the methods of a session that a client of the protocol needs: tools are added late, change and go.
type offers interface {
	AddTools(ctx context.Context, tools ...tool.Tool) error
	RemoveTools(ctx context.Context, names ...string) error
}

// mcpClient is a sketch of package mcp: a server runs as a process in the session's environment, and its tools are tools of the session.
type mcpClient struct {
	name string
	peers
	process env.Process
	session offers

	refreshing sync.Mutex
	stale      bool            // guarded by peers.mu, like running
	offered    map[string]bool // by name
	running    *tool.Call      // the call for which the server may ask
}

// dial starts a server and connects to it.
func dial(ctx context.Context, e env.Environment, name string, cmd env.Command) (*mcpClient, error) {
	c := &mcpClient{name: name, stale: true}
	c.peers = peers{prefix: "c", on: c.asked}
	life := context.WithoutCancel(ctx)
	r, w := io.Pipe()
	c.out = w
	cmd.Stdin, cmd.Output = true, func(stream int, p []byte) {
		if stream == env.Stdout {
			c.feed(life, p)
		}
	}
	var err error
	if c.process, err = e.Start(ctx, cmd); err != nil {
		return nil, err
	}
	c.busy.Go(func() { _, err := io.Copy(c.process.Stdin(), r); _ = r.CloseWithError(err) })
	go func() {
		_, err := c.process.Wait(life)
		_ = r.CloseWithError(errors.Join(err, errGone))
		c.gone()
	}()
	return c, c.call(ctx, "initialize", nil, &struct{}{})
}

// Close ends the server. A session calls it at its end, through Options.Closers.
func (c *mcpClient) Close() error { return c.process.Kill(context.Background()) }

// asked handles the requests and notifications of the server.
func (c *mcpClient) asked(ctx context.Context, m message) (any, error) {
	c.mu.Lock()
	call := c.running
	c.stale = c.stale || m.Method == "notifications/tools/list_changed"
	c.mu.Unlock()
	if m.Method != "elicitation/create" || call == nil {
		return nil, nil
	}
	var ask struct {
		Message         string
		RequestedSchema json.RawMessage
	}
	if err := json.Unmarshal(m.Params, &ask); err != nil {
		return nil, err
	}
	answer, err := call.Session.Ask(ctx, tool.Question{Text: ask.Message, Form: ask.RequestedSchema, Source: c.name, Now: true})
	return map[string]any{"action": answer.Action.String(), "content": answer.Content}, err
}

// refresh replaces the session's tools of the server by its current ones.
func (c *mcpClient) refresh(ctx context.Context) error {
	c.refreshing.Lock()
	defer c.refreshing.Unlock()
	c.mu.Lock()
	stale := c.stale
	c.stale = false
	c.mu.Unlock()
	if !stale {
		return nil
	}
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage
		}
	}
	if err := c.call(ctx, "tools/list", nil, &list); err != nil {
		return err
	}
	var tools []tool.Tool
	gone := maps.Clone(c.offered)
	c.offered = map[string]bool{}
	for _, t := range list.Tools {
		name := "mcp__" + c.name + "__" + t.Name
		tools = append(tools, tool.Tool{ToolDefinition: llm.ToolDefinition{Name: name, Description: t.Description, Parameters: t.InputSchema}, Run: c.run(t.Name)})
		c.offered[name] = true
		delete(gone, name)
	}
	return errors.Join(c.session.RemoveTools(ctx, slices.Collect(maps.Keys(gone))...), c.session.AddTools(ctx, tools...))
}

// run calls a tool of the server. Changes to the tools are applied before the next model call.
func (c *mcpClient) run(name string) func(context.Context, *tool.Call) (tool.Result, error) {
	return func(ctx context.Context, call *tool.Call) (result tool.Result, err error) {
		c.mu.Lock()
		c.running = call
		c.mu.Unlock()
		var got struct {
			Content []struct {
				Type, Text, MimeType string
				Data                 []byte
			}
			StructuredContent json.RawMessage
			IsError           bool
		}
		if err := c.call(ctx, "tools/call", map[string]any{"name": name, "arguments": json.RawMessage(call.Args)}, &got); err != nil {
			return result, fmt.Errorf("the server %s: %w", c.name, err)
		}
		for _, part := range got.Content {
			if part.Type == "text" {
				result.Content = append(result.Content, llm.Text{Text: part.Text})
			} else {
				result.Content = append(result.Content, llm.Media{MIME: part.MimeType, Data: part.Data})
			}
		}
		result.Structured, result.IsError = got.StructuredContent, got.IsError
		return result, c.refresh(ctx)
	}
}
