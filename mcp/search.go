package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// The names of the two tools by which a model reaches deferred ones.
const (
	SearchTool = "tool_search"
	CallTool   = "tool_call"
)

// The limits of a search.
const (
	maxQuery   = 1 << 10  // bytes
	maxFound   = 10       // tools
	maxResult  = 12 << 10 // bytes
	mostListed = 50       // servers in a description
)

// DefaultBudget is the budget of definitions for a model whose window is not known, in bytes.
const DefaultBudget = 80_000

// BudgetFor returns the budget of definitions for a model: a tenth of its window of tokens, at four
// bytes each.
func BudgetFor(window int) int {
	if window <= 0 {
		return DefaultBudget
	}
	return window * 4 / 10
}

// listing holds tools with the servers that they come from.
type listing struct {
	tools   []tool.Tool
	servers []string // by index, as in the names; empty for a tool that is always offered
}

// deferring returns the tools as sessions get them. If their definitions are larger than the
// budget, they are deferred, all of them, and two tools to find and to call them come at the end.
// It stays so until the servers are closed: definitions that come and go would begin epochs.
func (s *Servers) deferring(list listing) []tool.Tool {
	size, many := 0, 0
	for i, t := range list.tools {
		if list.servers[i] != "" {
			size += t.Size()
			many++
		}
	}
	budget := s.o.Budget
	if budget == 0 {
		budget = DefaultBudget
	}
	s.mu.Lock()
	s.defers = s.defers || budget > 0 && size > budget
	defers := s.defers
	s.mu.Unlock()
	if !defers || many == 0 {
		return list.tools
	}
	tools := slices.Clone(list.tools)
	for i := range tools {
		if tools[i].Deferred = list.servers[i] != ""; tools[i].Deferred {
			tools[i].Guidance = "" // with many servers it would fill the prompt
		}
	}
	list.tools = tools
	return append(slices.Clone(tools), s.searchTool(list), callTool())
}

// describe lists the servers of deferred tools with the number of these.
func (l listing) describe() string {
	var servers, shown []string
	counts := map[string]int{}
	for _, server := range l.servers {
		if counts[server]++; counts[server] == 1 && server != "" {
			servers = append(servers, server)
		}
	}
	for _, server := range servers[:min(len(servers), mostListed)] {
		shown = append(shown, fmt.Sprintf("%s (%d)", server, counts[server]))
	}
	text := strings.Join(shown, ", ")
	if more := len(servers) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// searchTool returns the tool that finds deferred ones.
func (s *Servers) searchTool(list listing) tool.Tool {
	def := llm.ToolDefinition{Name: SearchTool, Finds: true,
		Description: "Finds tools of MCP servers. They are not listed here, because there are many: search before " +
			"you decide that something cannot be done. The words of the query are compared with the tools' names, " +
			"descriptions and parameters; the name of a tool, or its beginning such as mcp__SERVER__, finds exactly " +
			"those; an empty query lists the servers. Then call a tool by its name if it is among your tools, and " +
			"otherwise with " + CallTool +
			". The servers, with the number of their tools: " + list.describe() + ".",
		Parameters: json.RawMessage(
			`{"type":"object","properties":{"query":{"type":"string","description":"Words, or the name of a tool or its beginning."}}}`)}
	t := tool.New(def, func(_ context.Context, _ *tool.Call, args struct {
		Query string `json:"query"`
	}) (tool.Result, error) {
		return s.listing().search(args.Query), nil
	})
	t.Access = func(string) (tool.Access, error) { return tool.Access{Effect: tool.ReadOnly}, nil }
	t.Limit = tool.Limit{Chars: -1}
	return t
}

// callTool returns the tool that calls deferred ones for models whose vendor does not load them.
func callTool() tool.Tool {
	def := llm.ToolDefinition{Name: CallTool,
		Description: "Calls a tool that " + SearchTool +
			" has found, if the tool is not among your tools. The call is " +
			"checked and permitted as one of that tool.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":` +
			`"The tool's full name, such as mcp__SERVER__TOOL."},"arguments":{"type":"object","description":"The tool's arguments, as its parameters say."}},"required":["name"]}`)}
	t := tool.New(def, func(context.Context, *tool.Call, tool.Forwarded) (tool.Result, error) {
		return tool.Result{}, errors.New("calls are run as those of the tool that they name")
	})
	t.Forwards = true
	return t
}

// search returns what the model reads about the tools that match a query, and references to them.
func (l listing) search(query string) tool.Result {
	query = strings.TrimSpace(query[:min(len(query), maxQuery)])
	if query == "" {
		return tool.Text("The servers, with the number of their tools: " + l.describe() +
			". Search for words, or for mcp__SERVER__ to see the tools of one.")
	}
	matches := l.rank(query)
	if len(matches) == 0 {
		return tool.Text("No tool matches. Use other words, or mcp__SERVER__ for the tools of a server. The servers, " +
			"with the number of their tools: " + l.describe() + ".")
	}
	var b strings.Builder
	var found llm.Parts
	for _, i := range matches[:min(len(matches), maxFound)] {
		entry := l.entry(i)
		if b.Len()+len(entry) > maxResult && len(found) > 0 {
			break
		}
		b.WriteString(entry)
		found = append(found, llm.ToolReference{Name: l.tools[i].Name})
	}
	if more := len(matches) - len(found); more > 0 {
		fmt.Fprintf(&b, "%d more tools match; use more words, or other ones, to see them.\n", more)
	}
	return tool.Result{Content: append(llm.TextParts(b.String()), found...)}
}

// entry describes a tool to the model.
func (l listing) entry(i int) string {
	t := &l.tools[i]
	begin := t.Name + "\n" + clean(t.Description, maxResult/8) + "\nParameters"
	if entry := fmt.Sprintf("%s: %s\n\n", begin, t.Parameters); len(entry) <= maxResult*3/4 {
		return entry
	}
	return fmt.Sprintf("%s, as a list because their schema is long: %s\n\n", begin,
		clean(strings.Join(parameterNames(t.Parameters), ", "), maxResult/4))
}
