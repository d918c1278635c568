package mcp

import (
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/internal/names"
	"github.com/attractor-go/attractor/tool"
)

// Tool returns a tool of a connected server. Its name is the one on the server or mcp__SERVER__TOOL. An error names the tools that are meant
// perhaps.
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
	if near := names.Near(name, known); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return tool.Tool{}, fmt.Errorf("the MCP server %s has no tool %s among its %d%s", server, clean(name, 100), len(known), hint)
}
