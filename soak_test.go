package attractor

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/internal/soak"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

var soakFor = flag.Duration("soak", 0,
	"how long TestL9_SoakTrusted runs sessions with faults, kills and floods; at least some")

// soakSecret is in a file that the model reads again and again. It must not be in a request nor in
// a journal.
const soakSecret = "zq8Vt2-soak-secret-4LmX91"

// Sessions with rules, a gate, masked secrets, limits and sandboxes come to their ends under
// faults, kills and floods, leave nothing behind, and do not leak the secret.
func TestL9_SoakTrusted(t *testing.T) {
	peer.Need(t, "bwrap")
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	group := strings.HasPrefix(local.Confinement().Containment, env.ContainGroup)
	if err := local.Close(); err != nil {
		t.Fatal(err)
	}
	calls := append(soak.Calls(group), soak.Call{Tool: "shell", Args: func(dice *rand.Rand) any {
		scripts := []string{"cat secret.txt", "base64 secret.txt", "xxd -p secret.txt || od -c secret.txt",
			"cat secret.txt secret.txt | rev",
			"for i in 1 2 3 4 5 6 7 8 9; do cat secret.txt; done; yes flood | head -c 200000",
			"ls .git ~ /", "touch ../outside /etc/soak .claude/settings.json; rm -rf .claude", "git push; rm x",
			"sudo ls", "curl -m 1 http://127.0.0.1:1"}
		return map[string]any{"command": scripts[dice.IntN(len(scripts))]}
	}}, soak.Call{Tool: "read_file", Args: func(*rand.Rand) any { return map[string]any{"file_path": "secret.txt"} }})
	soak.Run(t, soak.Config{For: *soakFor, Seed: seed.Number(t), Open: openSoak, Calls: calls, Secret: soakSecret,
		Check: noSecret})
}

// noSecret looks for the secret in the journals of a trial.
func noSecret(dir string) error {
	return filepath.WalkDir(filepath.Join(dir, "journals"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(data, []byte(soakSecret)) {
			err = fmt.Errorf("%s has the secret", name)
		}
		return err
	})
}

// openSoak starts or resumes a session of the soak as a program does, with a random choice of what
// confines it.
func openSoak(ctx context.Context, l *soak.Life) (*agent.Session, func() error, error) {
	for name, content := range map[string]string{"secret.txt": soakSecret + "\n",
		".claude/settings.json": `{"permissions": {"allow": ["Bash(ls:*)"], "deny": ["Bash(git push:*)"], "ask": ["Bash(rm:*)"]}}`} {
		if err := keepFile(filepath.Join(l.Dir, name), content); err != nil {
			return nil, nil, err
		}
	}
	provider := "anthropic"
	c := config{Config: Config{Store: l.Store, Dir: l.Dir, BaseURL: l.URL, IdleTimeout: l.IdleTimeout,
		Secrets: map[string]string{"SOAK": soakSecret}, TrustProject: l.Dice.IntN(2) == 0,
		Mode: []permit.Mode{permit.ModeFull, permit.ModeFull, permit.ModeFull, permit.ModeAsk,
			permit.ModeReadOnly}[l.Dice.IntN(5)]}, chosen: choices{provider: &provider}, Getenv: keyed}
	if l.Resume {
		c.Resume = l.ID
	}
	if l.Dice.IntN(2) == 0 {
		c.Sandbox = sandbox.Options{Level: []sandbox.Level{sandbox.Workspace, sandbox.ReadOnly}[l.Dice.IntN(2)]}
	}
	if l.Dice.IntN(2) == 0 {
		c.Limits = env.Limits{Processes: 30, OpenFiles: 200, FileSize: 1 << 20}
	}
	if c.Mode == permit.ModeAsk {
		verdicts := []tool.Verdict{tool.Allow, tool.Deny}
		c.Ask = func(context.Context, permit.Question) (permit.Answer, error) {
			return permit.Answer{Verdict: verdicts[l.Dice.IntN(2)]}, nil
		}
	}
	setup, err := prepare(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	l.Change(&setup.Options)
	session, err := setup.Start(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, setup.Close())
	}
	return session, setup.Close, nil
}

// keyed returns a variable of the environment, in which there is a key.
func keyed(name string) string {
	if name == "ANTHROPIC_API_KEY" {
		return "sk-ant-soak-0123456789"
	}
	return os.Getenv(name)
}

// keepFile writes a file unless it exists.
func keepFile(name, content string) error {
	if _, err := os.Lstat(name); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(content), 0o600)
}
