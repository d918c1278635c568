package mcp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/llm"
)

const (
	promptTime = 10 * time.Second // for a server to list its prompts
	maxPrompts = 200              // of a server
)

// Prompt describes a prompt of a server, which a person can use like a command.
type Prompt struct {
	Name        string // mcp__SERVER__PROMPT
	Server      string
	Description string
	Arguments   []PromptArgument

	original string
	from     *server
}

// PromptArgument describes an argument of a prompt.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// Prompts asks the connected servers for their prompts. The host is told of servers that do not
// answer.
func (s *Servers) Prompts(ctx context.Context) []Prompt {
	lists := make([][]Prompt, len(s.list))
	var all sync.WaitGroup
	for i, one := range s.list {
		all.Go(func() {
			list, err := one.prompts(ctx)
			if err != nil {
				s.warn(one.Name, fmt.Errorf("the MCP server %s did not list its prompts: %w", one.Name, err))
			}
			lists[i] = list
		})
	}
	all.Wait()
	return slices.Concat(lists...)
}

// prompts returns the server's prompts.
func (s *server) prompts(ctx context.Context) ([]Prompt, error) {
	s.mu.Lock()
	c := s.conn
	s.mu.Unlock()
	if c == nil || !c.alive() {
		return nil, nil
	}
	if r := c.session.InitializeResult(); r == nil || r.Capabilities == nil || r.Capabilities.Prompts == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, promptTime)
	defer cancel()
	var found []*sdk.Prompt
	var originals []string
	seen := map[string]bool{}
	for p, err := range c.session.Prompts(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if p == nil || seen[p.Name] {
			continue
		}
		if seen[p.Name] = true; len(found) == maxPrompts {
			break
		}
		found, originals = append(found, p), append(originals, p.Name)
	}
	names := toolNames(s.safe, originals)
	prompts := make([]Prompt, len(found))
	for i, p := range found {
		prompts[i] = Prompt{Name: names[i], Server: s.Name, Description: clean(p.Description, maxDescription),
			original: p.Name, from: s}
		for _, a := range p.Arguments {
			if a != nil {
				prompts[i].Arguments = append(prompts[i].Arguments,
					PromptArgument{Name: a.Name, Description: clean(a.Description, maxDescription),
						Required: a.Required})
			}
		}
	}
	return prompts, nil
}

// Get returns the text of a prompt as parts of a user message. It is untrusted, like everything
// that a server says.
func (p *Prompt) Get(ctx context.Context, args map[string]string) (llm.Parts, error) {
	for _, a := range p.Arguments {
		if args[a.Name] == "" && a.Required {
			return nil, fmt.Errorf("the prompt %s needs the argument %s", p.Name, oneLine(a.Name))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, p.from.CallTimeout)
	defer cancel()
	c, err := p.from.connected(ctx)
	if err != nil {
		return nil, fmt.Errorf("the MCP server %s is not running: %w", p.Server, err)
	}
	got, err := c.session.GetPrompt(ctx, &sdk.GetPromptParams{Name: p.original, Arguments: args})
	if err != nil {
		return nil, fmt.Errorf("the MCP server %s: %s", p.Server, clean(err.Error(), maxError))
	}
	b := builder{}
	for _, m := range got.Messages {
		if m == nil {
			continue
		}
		if m.Role == "assistant" {
			b.line("[As an example, an assistant answers:]")
		}
		b.add(m.Content)
	}
	content := b.content()
	for i, part := range content {
		if t, ok := part.(llm.Text); ok {
			content[i] = llm.Text{Text: clean(t.Text, maxList)}
		}
	}
	if len(content) == 0 {
		return nil, fmt.Errorf("the prompt %s of the MCP server %s is empty", p.Name, p.Server)
	}
	return content, nil
}
