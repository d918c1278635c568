package attractor

import (
	"context"

	"github.com/attractor-go/attractor/llm"
)

// prompt returns the content of a prompt of an MCP server, mcp__SERVER__PROMPT, with arguments.
func (s *Setup) prompt(ctx context.Context, name, arguments string) (llm.Parts, error) {
	if s.Servers == nil {
		return nil, fail(ErrConfig, "there is no prompt %s, because there are no MCP servers", name)
	}
	prompt, err := s.Servers.Prompt(ctx, name)
	if err != nil {
		return nil, fail(ErrConfig, "%w", err)
	}
	args, err := prompt.Fill(arguments)
	if err != nil {
		return nil, fail(ErrConfig, "%w", err)
	}
	parts, err := prompt.Get(ctx, args)
	if err != nil {
		return nil, fail(ErrConfig, "%w", err)
	}
	return parts, nil
}
