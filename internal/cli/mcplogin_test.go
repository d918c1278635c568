//go:build unix

package cli

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/attractor-go/attractor/internal/authserver"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// protectedServer starts a remote MCP server that wants a login, and returns its URL and its
// authorization server.
func protectedServer(t *testing.T) (string, *authserver.Server) {
	issuer := authserver.Start(t)
	server := sdk.NewServer(&sdk.Implementation{Name: "protected", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "whoami"}, func(context.Context, *sdk.CallToolRequest,
		struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "the user"}}}, nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "leak"}, func(_ context.Context, r *sdk.CallToolRequest,
		_ struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "you sent " +
			r.Extra.Header.Get("Authorization")}}}, nil, nil
	})
	var resource string
	check := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		scopes, expiry, ok := issuer.Check(token, resource)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Scopes: scopes, Expiration: expiry}, nil
	}
	const known = "/.well-known/oauth-protected-resource/mcp"
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	resource = web.URL + "/mcp"
	mux.Handle(known, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{Resource: resource,
		AuthorizationServers: []string{issuer.URL}}))
	mux.Handle("/mcp", auth.RequireBearerToken(check,
		&auth.RequireBearerTokenOptions{ResourceMetadataURL: web.URL + known})(
		sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)))
	t.Cleanup(func() {
		for open := range server.Sessions() {
			_ = open.Close() // of commands whose login has ended
		}
		web.Close()
	})
	return resource, issuer
}

// login runs attractor mcp login and opens the URL that it prints, as a user does.
func (h *home) login(name string) output {
	h.Helper()
	cmd := attractorCommand(h.T, "mcp", "login", name, "--no-browser")
	cmd.Dir, cmd.Env = h.dir, append(cmd.Env, "HOME="+h.home)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		h.Fatal(err)
	}
	var stdout strings.Builder
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said = append(said, lines.Text())
		if at := strings.TrimSpace(lines.Text()); strings.HasPrefix(at, "http://") {
			resp, err := http.Get(at)
			if err != nil {
				h.Fatal(err)
			}
			resp.Body.Close()
		}
	}
	_ = cmd.Wait() // its exit code is in the output
	return output{cmd.ProcessState.ExitCode(), stdout.String(), strings.Join(said, "\n")}
}

// A user sees that a server needs a login, logs in, calls a tool, and logs out.
func TestM3_TheCommands(t *testing.T) {
	at, issuer := protectedServer(t)
	h := newHome(t, "http://127.0.0.1:1")
	h.own(fmt.Sprintf(`{"mcpServers": {"work": {"type": "http", "url": %q}, "local": {"command": "true"}}}`, at))

	has(t, h.run(0, "mcp", "list").stdout, "work", "needs login", "run attractor mcp login work")
	has(t, h.run(1, "mcp", "call", "work", "whoami", "{}").stderr,
		"the MCP server work needs a login: run attractor mcp login work")
	if out := h.login("work"); out.code != 0 || out.stdout != "You are logged in at work.\n" ||
		!strings.Contains(out.stderr, "To log in at work, open this URL in a browser:") {
		t.Fatalf("%+v", out)
	}
	has(t, h.run(0, "mcp", "list").stdout, "connected  2 tools")
	has(t, h.run(0, "mcp", "call", "work", "whoami", "{}").stdout, "the user")
	issuer.Expire()
	has(t, h.run(0, "mcp", "call", "work", "whoami", "{}").stdout, "the user")
	files, err := filepath.Glob(filepath.Join(h.home, ".local", "state", "attractor", "mcp", "tokens", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the logins are in %v, %v", files, err)
	}
	if data, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(data), issuer.URL) {
		t.Errorf("the login is %s, %v", data, err)
	}
	has(t, h.run(0, "mcp", "logout", "work").stdout, "The login at work is revoked and forgotten.")
	if n := issuer.Alive(); n != 0 {
		t.Errorf("%d logins are left", n)
	}
	has(t, h.run(1, "mcp", "logout", "work").stderr, "there is no login; to log in, run: attractor mcp login work")
	has(t, h.run(0, "mcp", "list").stdout, "needs login")

	has(t, h.run(2, "mcp", "login", "local").stderr, "a program on this machine, which needs no login")
	has(t, h.run(2, "mcp", "login", "wrok").stderr, "there is no MCP server wrok")
	has(t, h.run(2, "mcp", "login").stderr, "to list the servers, run: attractor mcp list")
	issuer.Redirect = func(q url.Values) { q.Set("iss", "https://evil.example") }
	if out := h.login("work"); out.code != 1 || !strings.Contains(out.stderr,
		"the answer is from https://evil.example") {
		t.Errorf("%+v", out)
	}
}

// A session says that a server needs a login and begins none. With a login its tools work, and
// neither the model nor the journal sees the tokens.
func TestM3_SessionsAndTokens(t *testing.T) {
	at, issuer := protectedServer(t)
	url, server := serve(t, nil, say("", use("mcp__work__leak", map[string]any{})), fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	// the session waits for it
	h.own(fmt.Sprintf(`{"mcpServers": {"work": {"type": "http", "url": %q, "required": true}}}`, at))
	has(t, h.run(exitFailed, "run", "--yes", "x").stderr,
		"the MCP server work needs a login: run attractor mcp login work")
	if n := len(issuer.Requests("/register")) + len(issuer.Requests("/authorize")); n != 0 {
		t.Errorf("the session sent %d requests for a login", n)
	}
	if out := h.login("work"); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	issuer.Expire() // so that the session refreshes the token, and has to mask the new one
	out := h.run(0, "run", "--yes", "--json", "x")
	requests := server.Requests()
	has(t, lastResults(requests[len(requests)-1].Messages), "you sent Bearer [secret work-token]")
	journals, err := filepath.Glob(filepath.Join(h.home, ".local", "state", "attractor", "sessions", "*.jsonl"))
	if err != nil || len(journals) != 1 {
		t.Fatalf("%v, %v", journals, err)
	}
	for _, file := range journals {
		data, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(data), "access-") || strings.Contains(string(data), "refresh-") {
			t.Errorf("%s has a token, or: %v", file, err)
		}
	}
	if strings.Contains(out.stdout+out.stderr, "access-") {
		t.Errorf("a token is printed: %s%s", out.stdout, out.stderr)
	}
}
