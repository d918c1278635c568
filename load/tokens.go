package load

import (
	"path/filepath"

	"github.com/attractor-go/attractor/internal/fault"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/mcp"
)

// MCPTokens returns the user's logins at MCP servers: $XDG_STATE_HOME/attractor/mcp/tokens, else
// ~/.local/state/attractor/mcp/tokens.
func MCPTokens(getenv func(string) string) (*mcp.FileTokens, error) {
	state, err := userfiles.StateDir(getenv)
	if err != nil {
		return nil, fault.Errorf(fault.ErrConfig, "there is no directory to keep logins in: %w", err)
	}
	return TokensIn(state), nil
}

// TokensIn returns the logins in a directory for state.
func TokensIn(state string) *mcp.FileTokens {
	return mcp.NewFileTokens(filepath.Join(state, "attractor", "mcp", "tokens"))
}
