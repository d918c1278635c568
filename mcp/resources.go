package mcp

import "github.com/attractor-go/attractor/tool"

// resourceTools returns the tools that list and read the resources of servers, if a server has any.
func (s *Servers) resourceTools() []tool.Tool { return nil }
