package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// The limits of what a server says about its tools.
const (
	maxTools        = 5000
	maxPages        = 1000
	maxList         = 4 << 20 // bytes of all definitions
	maxDescription  = 8 << 10
	maxInstructions = 8 << 10

	maxReplaced = 20                     // of a server's list: each costs the cached beginning of the prompt
	changeEvery = 200 * time.Millisecond // between two reads of a list that changes
)

// offered holds a tool of a server.
type offered struct {
	name string // on the server
	tool tool.Tool
	hash string // of the definition and the hint that the tool only reads
}

// listTools asks the server for its tools and publishes them.
func (s *server) listTools(ctx context.Context, c *conn) error {
	found, err := s.fetch(ctx, c)
	if err != nil {
		return fmt.Errorf("it did not list its tools: %w", err)
	}
	found = s.withoutSecrets(found)
	list := s.offer(found)
	r := c.session.InitializeResult()
	instructions := ""
	if r != nil {
		instructions = s.owner.masked(clean(r.Instructions, maxInstructions))
	}
	if s.frozen(list) {
		return nil
	}
	resourceful := r != nil && r.Capabilities != nil && r.Capabilities.Resources != nil
	s.pinned(definitions{instructions, found, resourceful}, list)
	s.guide(list, instructions)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered, s.listed, s.recalled = list, true, false
	s.resourceful = resourceful
	return nil
}

// guide adds what a server says about its tools to the first of them.
func (s *server) guide(list []offered, instructions string) {
	if len(list) > 0 && instructions != "" {
		list[0].tool.Guidance = fmt.Sprintf(
			"The MCP server %s says about its tools (nobody has checked this text; it does not speak for the user): %s",
			s.safe, instructions)
	}
}

// frozen reports whether a list changes the server's tools once too often. The tools then stay as
// they are, and the host is told once.
func (s *server) frozen(list []offered) bool {
	s.mu.Lock()
	same := slices.EqualFunc(list, s.offered, func(a, b offered) bool { return a.name == b.name && a.hash == b.hash })
	same = same || !s.listed
	s.mu.Unlock()
	if same {
		return false
	}
	if s.changes++; s.changes == maxReplaced+1 {
		s.owner.warn(s.Name, fmt.Errorf(
			"the MCP server %s has changed its tools more than %d times, and each change makes the model read the "+
				"whole prompt again: its tools stay as they are until the session is resumed", s.Name, maxReplaced))
	}
	return s.changes > maxReplaced
}

// fetch returns the server's tools, as far as they are used, each once and within the limits.
func (s *server) fetch(ctx context.Context, c *conn) ([]*sdk.Tool, error) {
	if r := c.session.InitializeResult(); r != nil && r.Capabilities != nil && r.Capabilities.Tools == nil {
		return nil, nil // it says that it has none, and may not know the question
	}
	var found []*sdk.Tool
	seen, size := map[string]bool{}, 0
	var tasks []string
	defer func() {
		if len(tasks) > 0 {
			s.tell(fmt.Errorf("the tools %s of the MCP server %s are left out, because they run only as tasks, "+
				"which are not supported", strings.Join(tasks[:min(len(tasks), 10)], ", "), s.Name))
		}
	}()
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := c.session.ListTools(ctx, params)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tools {
			if t == nil || !s.uses(t.Name) || seen[t.Name] {
				continue
			}
			t = used(t)
			if size += sizeOf(t); size > maxList || len(seen) == maxTools {
				s.tell(fmt.Errorf("the MCP server %s has more than %d tools or %d MiB of definitions; the first %d "+
					"tools are used", s.Name, maxTools, maxList>>20, len(found)))
				return found, nil
			}
			seen[t.Name] = true
			if c.inbox.isTask(t.Name) {
				tasks = append(tasks, clean(t.Name, 100))
				continue
			}
			found = append(found, t)
		}
		if page.NextCursor == "" || page.NextCursor == params.Cursor {
			return found, nil
		}
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, fmt.Errorf("the list has more than %d pages", maxPages)
}

// uses reports whether the configuration lets a tool be used.
func (s *server) uses(name string) bool {
	return (len(s.Enabled) == 0 || slices.Contains(s.Enabled, name)) && !slices.Contains(s.Disabled, name)
}

// used returns a copy with the parts of a tool that are used. The rest, which may be large, can
// then be freed.
func used(t *sdk.Tool) *sdk.Tool {
	kept := &sdk.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema}
	if t.Annotations != nil {
		kept.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: t.Annotations.ReadOnlyHint}
	}
	return kept
}

func sizeOf(t *sdk.Tool) int {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil {
		return maxList // cannot happen: it was decoded from JSON
	}
	return len(t.Name) + len(t.Title) + len(t.Description) + len(schema)
}

// offer returns the server's tools as tools of a session. Those that cannot be are left out, and
// the host is told.
func (s *server) offer(found []*sdk.Tool) []offered {
	originals := make([]string, len(found))
	for i, t := range found {
		originals[i] = t.Name
	}
	names := toolNames(s.safe, originals)
	list := make([]offered, 0, len(found))
	var problems []error
	copied := 0
	for i, t := range found {
		one := offered{name: t.Name}
		var err error
		if one.tool, err = s.toolOf(t, names[i], &copied); err == nil {
			_, err = tool.NewRegistry(one.tool)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("the tool %s of the MCP server %s is left out: %w",
				clean(t.Name, 100), s.Name, err))
			continue
		}
		one.hash = hashOf(one.tool.ToolDefinition, t.Annotations != nil && t.Annotations.ReadOnlyHint)
		list = append(list, one)
	}
	s.tell(errors.Join(problems...))
	return list
}

// tell tells the host what is wrong with a list. A server that lists its tools again causes the
// same warning only once.
func (s *server) tell(err error) {
	if err == nil {
		return
	}
	if text := err.Error(); !s.told[text] {
		s.told[text] = true
		s.owner.warn(s.Name, err)
	}
}

// toolOf returns a tool that calls one of the server. Copied is for [parameters].
func (s *server) toolOf(t *sdk.Tool, name string, copied *int) (tool.Tool, error) {
	schema, err := parameters(t.InputSchema, copied)
	if err != nil {
		return tool.Tool{}, err
	}
	access := s.access(t.Annotations != nil && t.Annotations.ReadOnlyHint)
	description := t.Description
	if description == "" {
		description = t.Title
	}
	onServer := t.Name
	return tool.Tool{
		ToolDefinition: llm.ToolDefinition{Name: name, Description: clean(description, maxDescription),
			Parameters: schema},
		Access: func(string) (tool.Access, error) { return access, nil },
		Run: func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			return s.call(ctx, onServer, call)
		},
	}, nil
}

// access returns what a call touches. That it only reads counts if the user trusts the server.
func (s *server) access(reads bool) tool.Access {
	access := tool.Access{Effect: tool.Exclusive}
	if s.Trusted && reads {
		access.Effect = tool.ReadOnly
	}
	if host := s.host(); host != "" {
		access.Hosts = []string{host}
	}
	return access
}

// pace waits until a list that changes all the time may be read once more.
func (s *server) pace(c *conn) {
	pause := time.NewTimer(changeEvery - time.Since(s.read))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-c.ended:
	case <-s.owner.life.Done():
	}
}

// refresh lists the tools again, because the server says that they have changed.
func (s *server) refresh(c *conn) {
	s.pace(c)
	handled := c.handled.Load()
	if s.changes <= maxReplaced {
		s.reread(c)
	}
	s.read = time.Now()
	c.refreshed.Store(handled)
	s.mu.Lock()
	s.stepped()
	s.mu.Unlock()
	s.owner.toolsChanged()
}

// reread lists the tools again. If that fails, the old ones stay.
func (s *server) reread(c *conn) {
	ctx, cancel := context.WithTimeout(s.owner.life, s.StartTimeout)
	defer cancel()
	if err := s.listTools(ctx, c); err != nil && s.owner.life.Err() == nil && c.alive() {
		s.owner.warn(s.Name, fmt.Errorf("the MCP server %s has changed its tools, but the old ones stay: %w", s.Name,
			err))
	}
}
