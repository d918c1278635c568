package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// The names of the tools for the resources of all servers.
const (
	ListResources = "mcp_resources"
	ReadResource  = "mcp_read"
)

// resourcesLabel stands for the tools of resources among the servers of a catalog.
const resourcesLabel = "resources of servers"

const maxResources = 1000 // of a server in a list

type listArgs struct {
	Server string `json:"server" jsonschema:"the server's name"`
}

type readArgs struct {
	Server string `json:"server" jsonschema:"the server's name"`
	URI    string `json:"uri" jsonschema:"the resource's address, as the list has it"`
}

// resourceTools returns the tools that list and read the resources of servers, if a server has any.
// Their definitions do not depend on the servers.
func (s *Servers) resourceTools() []tool.Tool {
	if len(s.withResources()) == 0 {
		return nil
	}
	list := tool.New(llm.ToolDefinition{Name: ListResources,
		Description: "Lists the resources of an MCP server: data that it offers for reading, by address."},
		func(ctx context.Context, call *tool.Call, args listArgs) (tool.Result, error) {
			return s.ask(ctx, call, args.Server, resources)
		})
	read := tool.New(llm.ToolDefinition{Name: ReadResource, Description: "Reads a resource of an MCP server."},
		func(ctx context.Context, call *tool.Call, args readArgs) (tool.Result, error) {
			return s.ask(ctx, call, args.Server, func(ctx context.Context, c *conn, _ *running) (tool.Result, error) {
				return read(ctx, c, args.URI)
			})
		})
	return []tool.Tool{tool.WithAccess(list, func(a listArgs) tool.Access { return s.resourceAccess(a.Server) }),
		tool.WithAccess(read, func(a readArgs) tool.Access { return s.resourceAccess(a.Server) })}
}

// ask runs a request to a server for a call.
func (s *Servers) ask(ctx context.Context, call *tool.Call, server string, w work) (tool.Result, error) {
	one, err := s.resourceServer(server)
	if err != nil {
		return tool.Result{}, err
	}
	return one.do(ctx, call, w)
}

// withResources returns the names of the servers that have resources.
func (s *Servers) withResources() (names []string) {
	for _, one := range s.list {
		one.mu.Lock()
		if one.resourceful {
			names = append(names, one.safe)
		}
		one.mu.Unlock()
	}
	return names
}

// resourceServer returns a server by the name that it has in the names of its tools. Permission
// rules know it by that name alone.
func (s *Servers) resourceServer(name string) (*server, error) {
	for _, one := range s.list {
		if one.safe == name {
			return one, nil
		}
	}
	return nil, fmt.Errorf("there is no MCP server %q; the servers with resources are %s", name,
		strings.Join(s.withResources(), ", "))
}

// resourceAccess returns what a call for a server's resources touches.
func (s *Servers) resourceAccess(name string) tool.Access {
	one, err := s.resourceServer(name)
	if err != nil {
		return tool.Access{Effect: tool.ReadOnly, About: name} // the call fails
	}
	access := one.access(true)
	access.About = name
	return access
}

// resources returns the list of a server's resources and templates.
func resources(ctx context.Context, c *conn, _ *running) (tool.Result, error) {
	var lines []string
	for r, err := range c.session.Resources(ctx, nil) {
		if err != nil {
			return tool.Result{}, err
		}
		if len(lines) == maxResources {
			lines = append(lines, fmt.Sprintf("[There are more than %d resources.]", maxResources))
			return tool.Text(strings.Join(lines, "\n")), nil
		}
		lines = append(lines, row(r.URI, r.Name, r.MIMEType, r.Description))
	}
	for t, err := range c.session.ResourceTemplates(ctx, nil) {
		if err != nil || len(lines) == maxResources {
			break // many servers with resources know no templates
		}
		lines = append(lines, row("template "+t.URITemplate, t.Name, t.MIMEType, t.Description))
	}
	if len(lines) == 0 {
		return tool.Text("The server has no resources."), nil
	}
	return tool.Text(strings.Join(lines, "\n")), nil
}

// row returns a line of a list.
func row(words ...string) string {
	for i, word := range words {
		words[i] = oneLine(word)
	}
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), "; ")
}

// read returns the content of a resource.
func read(ctx context.Context, c *conn, uri string) (tool.Result, error) {
	got, err := c.session.ReadResource(ctx, &sdk.ReadResourceParams{Meta: traced(ctx), URI: uri})
	if err != nil {
		return tool.Result{}, err
	}
	b := builder{}
	for _, part := range got.Contents {
		b.resource(part)
	}
	content := b.content()
	if len(content) == 0 {
		return tool.Text("The resource is empty."), nil
	}
	return tool.Result{Content: content}, nil
}
