package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/tool"
)

// Tool returns a tool of a connected server. The name is the one on the server or
// mcp__SERVER__TOOL. The error for an unknown name suggests similar ones.
func (s *Servers) Tool(server, name string) (tool.Tool, error) {
	var known []string
	for _, one := range s.list {
		if one.Name != server {
			continue
		}
		one.mu.Lock()
		list := one.offered
		one.mu.Unlock()
		for i := range list {
			if list[i].name == name || list[i].tool.Name == name {
				return list[i].tool, nil
			}
			known = append(known, clean(list[i].name, 100))
		}
	}
	hint := ""
	if near := texts.Near(name, known); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return tool.Tool{}, fmt.Errorf("the MCP server %s has no tool %s among its %d%s", server, clean(name, 100),
		len(known), hint)
}

// Prompt returns the prompt with a name, mcp__SERVER__PROMPT. It waits for the server if that is
// still starting.
func (s *Servers) Prompt(ctx context.Context, name string) (*Prompt, error) {
	var known []string
	for _, one := range s.list {
		if !strings.HasPrefix(name, "mcp__"+one.safe+"__") {
			continue
		}
		if !one.await(ctx) {
			return nil, context.Cause(ctx)
		}
		if err := one.problem(); err != nil {
			return nil, fmt.Errorf("the MCP server %s: %w", one.Name, err)
		}
		list, err := one.prompts(ctx)
		if err != nil {
			return nil, fmt.Errorf("the MCP server %s did not list its prompts: %w", one.Name, err)
		}
		for i := range list {
			if list[i].Name == name {
				return &list[i], nil
			}
			known = append(known, list[i].Name)
		}
	}
	hint := ""
	if len(known) > 0 {
		hint = "; there is " + strings.Join(known[:min(len(known), 10)], ", ")
	}
	return nil, fmt.Errorf("there is no prompt %s%s", clean(name, 100), hint)
}

// Fill returns the values of the prompt's arguments in a line: words in their order, or NAME=VALUE.
// Quotes hold words together, and the last argument takes the words that are left.
func (p *Prompt) Fill(line string) (map[string]string, error) {
	args := map[string]string{}
	next, last := 0, ""
	for _, word := range texts.Words(line) {
		if name, value, ok := strings.Cut(word, "="); ok && slices.ContainsFunc(p.Arguments,
			func(a PromptArgument) bool { return a.Name == name }) {
			args[name] = value
			continue
		}
		for next < len(p.Arguments) && args[p.Arguments[next].Name] != "" {
			next++
		}
		switch {
		case next < len(p.Arguments):
			last = p.Arguments[next].Name
			args[last] = word
		case last != "":
			args[last] += " " + word
		default:
			return nil, fmt.Errorf("the prompt %s takes no argument %q", p.Name, clean(word, 100))
		}
	}
	return args, nil
}
