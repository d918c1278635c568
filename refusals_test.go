package attractor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// The model reads what the sandbox refused, and a person can let the command run outside, once.
func TestL5_RefusalsAreTold(t *testing.T) {
	t.Parallel()
	peer.Need(t, "bwrap")
	for name, c := range map[string]struct {
		permission permit.Mode
		outside    bool // what the person answers
		ran        bool
	}{
		"nobody is asked":   {permit.ModeFull, false, false},
		"a person says no":  {permit.ModeAsk, false, false},
		"a person says yes": {permit.ModeAsk, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			const script = "echo made >.mcp.json; mkdir -p .codex && touch .codex/f"
			b := newBench(t, calls(t, "shell", object{"command": script}),
				calls(t, "shell", object{"command": "touch .vscode/x"}), fakellm.Turn{Text: "done"})
			if err := os.Mkdir(filepath.Join(b.dir, ".vscode"), 0o755); err != nil {
				t.Fatal(err)
			}
			asked := [][]string{}
			config := b.asking(func(_ context.Context, q permit.Question) (permit.Answer, error) {
				if len(q.Refused) == 0 || c.outside && len(asked) == 0 {
					if len(q.Refused) > 0 {
						asked = append(asked, q.Refused)
					}
					return permit.Answer{Verdict: tool.Allow}, nil
				}
				asked = append(asked, q.Refused)
				return permit.Answer{Reason: "no"}, nil
			})
			config.Mode, config.Sandbox = c.permission, sandbox.Options{Level: sandbox.Workspace, State: t.TempDir(),
				Cache: t.TempDir()}
			b.submit(config, "make it")
			text := b.lastRequest()
			for _, want := range []string{"The sandbox lets commands only read", "/.vscode/x.",
				"work without it, or say what you need"} {
				if !strings.Contains(text, want) {
					t.Errorf("the model does not read %q:\n%s", want, text)
				}
			}
			if got := strings.TrimSpace(b.read(".mcp.json")); (got == "made") != c.ran {
				t.Errorf(".mcp.json holds %q", got)
			}
			if strings.Contains(text, "allowed this command, once, to run outside") != c.ran {
				t.Errorf("the model reads:\n%s", text)
			}
			if wanted := map[bool]int{true: 2}[c.permission == permit.ModeAsk]; len(asked) != wanted {
				t.Errorf("asked %q, want %d questions", asked, wanted)
			}
			if _, err := os.Stat(filepath.Join(b.dir, ".vscode/x")); err == nil {
				t.Error("the second command ran outside as well")
			}
		})
	}
}
