package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// On a terminal the login ends when the browser comes back, or when the user pastes the URL at
// which it ended.
func TestM3_LoginOnATerminal(t *testing.T) {
	at, issuer := protectedServer(t)
	for _, pasted := range []string{"", "right", "wrong"} {
		h := newHome(t, "http://127.0.0.1:1")
		h.own(fmt.Sprintf(`{"mcpServers": {"work": {"type": "http", "url": %q}}}`, at))
		cmd := attractorCommand(t, "mcp", "login", "work") // without a screen there is no browser to open
		cmd.Dir, cmd.Env = h.dir, append(cmd.Env, "HOME="+h.home)
		p := startOnTerminal(t, cmd)
		above := p.expect("paste the URL at which it ended: ")
		_, page, _ := strings.Cut(above, "in a browser:\n\n  ")
		page, _, _ = strings.Cut(page, "\n")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page, nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := http.DefaultTransport.RoundTrip
		if pasted == "" {
			browser = http.DefaultClient.Do
		}
		resp, err := browser(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		switch pasted {
		case "right":
			p.write(resp.Header.Get("Location") + "\n")
		case "wrong":
			p.write("http://127.0.0.1/callback?code=1\n")
		}
		screen, code := p.wait()
		if pasted == "wrong" {
			if code != 1 || !strings.Contains(screen, "what was pasted is not the URL at which this login ended") {
				t.Errorf("a wrong URL: %d\n%s", code, screen)
			}
		} else if code != 0 || !strings.Contains(screen, "\nYou are logged in at work.\n") {
			t.Errorf("pasted %q: %d\n%s", pasted, code, screen)
		}
	}
	if n := issuer.Alive(); n != 2 {
		t.Errorf("%d logins, want 2", n)
	}
}
