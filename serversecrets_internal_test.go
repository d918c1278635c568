package attractor

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/secret"
)

// Keys in the URLs of servers are masked, because errors of connections quote them.
func TestN7_KeysInURLsOfServers(t *testing.T) {
	m := secret.New()
	servers := []mcp.Server{{Name: "one",
		URL: "https://user:password-of-user@host/mcp?api_key=value-of-key-1&tavilyApiKey=value-of-key-2&" +
			"page=an-open-value&access-token=value%2Dof-key-3"},
		{Name: "two", URL: "https://host/mcp?token=short"}, {Name: "three", URL: "https://host/\x7f"}, {Name: "four"}}
	unmasked := maskServers(m, servers)
	if len(unmasked) != 1 || !strings.Contains(unmasked[0].Error(), "the MCP server two") {
		t.Errorf("not masked: %v", unmasked)
	}
	got := m.String("Post " + servers[0].URL + ": connection refused; value-of-key-3")
	for _, bad := range []string{"password-of-user", "value-of-key", "value%2Dof-key"} {
		if strings.Contains(got, bad) {
			t.Errorf("%s is in %s", bad, got)
		}
	}
	if !strings.Contains(got, "an-open-value") || !strings.Contains(got, "connection refused") {
		t.Errorf("too much is masked: %s", got)
	}
}
