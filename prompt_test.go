package attractor

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/profile/anthropic"
)

// inAnother is an environment that seems to be in another directory, so that the prompt is read
// through an environment of its own.
type inAnother struct{ env.Base }

func (inAnother) WorkDir() string { return "/elsewhere" }

// The session's own environment gives the same prompt as one that can read the whole repository.
func TestK2_ThePromptIsReadOnce(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repository, below := filepath.Join(dir, "repository"), filepath.Join(dir, "repository/below")
	if out, err := exec.Command(peer.Need(t, "git"), "init", "-q", "-b", "main",
		repository).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{dir, repository, below} {
		if err := os.WriteFile(filepath.Join(at, "AGENTS.md"), []byte("DOCUMENT OF "+filepath.Base(at)),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[string]string{dir: "Is git repository: no",
		repository: "Git status: 0 modified, 2 untracked", below: "DOCUMENT OF repository"} {
		local, err := env.NewLocal(at, env.LocalOptions{Containment: env.ContainGroup})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := local.Close(); err != nil {
				t.Error(err)
			}
		}()
		for _, e := range []env.Environment{env.Protect(local, env.DefaultProtection()), env.ReadOnly(local)} {
			prompt := func(e env.Environment) string {
				text, err := SystemPrompt(t.Context(), at, agent.Options{Profile: anthropic.Profile(), Env: e})
				if err != nil {
					t.Fatal(err)
				}
				return text
			}
			direct, apart := prompt(e), prompt(inAnother{env.Base{Environment: e}})
			if direct != apart || !strings.Contains(direct, want) {
				t.Errorf("in %s, want %q:\n%s\nand through an environment of its own\n%s", at, want, direct, apart)
			}
		}
	}
}
