package host

import (
	"context"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// Command returns what a person means by a line that begins with /: the content of a prompt of an MCP server, as in
// /mcp__SERVER__PROMPT and its arguments. It is false for any other line, which stands for itself.
func (s *Setup) Command(ctx context.Context, line string) (parts llm.Parts, is bool, err error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	name, is = strings.CutPrefix(name, "/")
	if !is || !strings.HasPrefix(name, "mcp__") {
		return nil, false, nil
	}
	if s.Servers == nil {
		return nil, true, fail(ErrConfig, "there is no prompt %s, because there are no MCP servers", name)
	}
	prompt, err := s.Servers.Prompt(ctx, name)
	if err != nil {
		return nil, true, fail(ErrConfig, "%w", err)
	}
	args, err := prompt.Fill(rest)
	if err == nil {
		parts, err = prompt.Get(ctx, args)
	}
	if err != nil {
		return nil, true, fail(ErrConfig, "%w", err)
	}
	return parts, true, nil
}
