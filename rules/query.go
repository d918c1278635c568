package rules

import (
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Query describes a call for somebody who wants to know what the rules say about it.
type Query struct {
	Tool string `json:"tool"`
	// Command is for tools that run commands, Path for tools that read or change files, and Host
	// for tools that read from the network.
	Command string `json:"command"`
	Path    string `json:"path"`
	Host    string `json:"host"`
}

// Request returns the request that stands for the call. Without a tool, a command is for Bash.
func (q Query) Request() (req tool.Request, err error) {
	if q.Tool == "" && q.Command != "" {
		q.Tool = "Bash"
	}
	of := kindOf(q.Tool)
	missing := ""
	switch {
	case q.Tool == "":
		return req, errors.New(`the tool is missing; give a tool with a command, a path or a host, such as {"tool": "Read", "path": "go.mod"}`)
	case of == command && q.Command == "":
		missing = "a command"
	case (of == read || of == edit) && q.Path == "":
		missing = "a path"
	case of == fetch && q.Host == "":
		missing = "a host"
	}
	if missing != "" {
		return req, fmt.Errorf("%s needs %s", q.Tool, missing)
	}
	req.Access = tool.Access{Effect: tool.Writes, Command: q.Command}
	if of == read || of == inner {
		req.Access.Effect = tool.ReadOnly
	}
	if q.Path != "" {
		req.Access.Paths = []string{q.Path}
	}
	if q.Host != "" {
		req.Access.Hosts = []string{q.Host}
	}
	req.Call = llm.ToolCall{Name: q.Tool}
	return req, nil
}
