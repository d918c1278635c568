//go:build unix

package env_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
)

// repository makes a directory with a .git and several ways into it.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{".git/hooks", "sub/.git", "linked", ".claude"} {
		mkdir(t, filepath.Join(dir, d))
	}
	for name, content := range map[string]string{".git/config": "c", ".git/hooks/pre-commit": "h",
		"sub/.git/config": "s", "f": "f", "worktree": "w", ".claude/settings.json": "{}"} {
		write(t, filepath.Join(dir, name), content)
	}
	for link, to := range map[string]string{"in": ".git", "linked/up": "..", "hook": ".git/hooks/pre-commit",
		"abs": dir + "/.git/hooks", "linked/.git": "../f",
		"settings": ".claude/settings.json"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tree returns the contents of a directory by name.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, err := os.ReadFile(name)
			files[strings.TrimPrefix(name, dir+"/")] = string(data)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// plainEnvironment is an environment with only the eight methods.
type plainEnvironment struct{ env.Environment }

func TestI2_ProtectRefusesGit(t *testing.T) {
	dir := repository(t)
	local := newLocal(t, dir, env.LocalOptions{})
	before := tree(t, dir)
	for kind, e := range map[string]env.Environment{
		"of local": env.Protect(local, env.DefaultProtection()),
		"of sub":   env.Protect(env.Sub(local, "."), env.DefaultProtection()),
		"in sub":   env.Sub(env.Protect(local, env.DefaultProtection()), "."),
		"logged":   env.Logging(env.Protect(local, env.DefaultProtection()), slog.New(slog.DiscardHandler)),
		"of plain": env.Protect(plainEnvironment{local}, env.DefaultProtection()),
	} {
		t.Run(kind, func(t *testing.T) {
			for _, name := range []string{".git/config", ".git/hooks/pre-commit", ".git/hooks/new",
				"./x/../.git/config", dir + "/.git/config", "sub/.git/config", ".git",
				"new/.git", "in/config", "in/hooks/new", "linked/up/.git/config", "linked/up/in/config", "hook",
				"abs/new", "linked/.git",
				".GIT/config", ".Git/new", ".g\u200cit/config", ".git./config", ".git /x", "git~1/config",
				".git::$INDEX_ALLOCATION/x", ".gi\ufe0ft/x"} {
				for op, err := range map[string]error{
					"write":   e.WriteFile(t.Context(), name, []byte("x"), 0o644),
					"replace": env.Replace(t.Context(), e, name, env.HashOf([]byte("c")), []byte("x"), 0o644),
					"make":    env.Replace(t.Context(), e, name, env.NoFile, []byte("x"), 0o644),
				} {
					if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, env.ErrChanged) || kind != "of plain" &&
						!errors.Is(err, env.ErrProtected) {
						t.Errorf("%s %s: %v", op, name, err)
					}
				}
				if err := e.Remove(t.Context(), name); name != "hook" && !errors.Is(err, env.ErrProtected) &&
					!(kind == "of plain" && errors.Is(err, fs.ErrPermission)) {
					t.Errorf("remove %s: %v", name, err)
				} else if err == nil { // the link itself is not a hook
					if err := os.Symlink(".git/hooks/pre-commit", filepath.Join(dir, "hook")); err != nil {
						t.Fatal(err)
					}
				}
			}
			if f, err := e.Open(t.Context(), ".git/config"); err != nil {
				t.Errorf("Open: %v", err)
			} else if err := f.Close(); err != nil {
				t.Error(err)
			}
			for _, name := range []string{"f", "new/gitignore", ".gitignore", ".github/x", "git"} {
				if err := e.WriteFile(t.Context(), name, []byte("f"), 0o644); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for name, content := range tree(t, dir) {
		if was, ok := before[name]; strings.Contains("/"+name, "/.git/") && (!ok || was != content) {
			t.Errorf("%s was changed to %q", name, content)
		}
	}
}

func TestI2_ProtectReportsWhatNeedsApproval(t *testing.T) {
	dir := repository(t)
	local := newLocal(t, dir, env.LocalOptions{})
	write(t, filepath.Join(dir, "readonly"), "x")
	if err := os.Chmod(filepath.Join(dir, "readonly"), 0o444); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bare/HEAD", "half/HEAD", "half/refs/x"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, name, "ref: refs/heads/x\n")
	}
	for name, to := range map[string]string{"linked/HEAD": "refs/heads/packed", "linked/refs": os.TempDir()} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.Symlink(to, name)); err != nil {
			t.Fatal(err)
		}
	}
	protection := env.DefaultProtection()
	protection.Ask = append(protection.Ask, "scripts/hooks", dir+"/abs-hooks")
	for kind, e := range map[string]env.Environment{
		"of local":  env.Protect(local, protection),
		"in sub":    env.Sub(env.Protect(local, protection), "."),
		"logged":    env.Logging(env.Protect(local, protection), slog.New(slog.DiscardHandler)),
		"read-only": env.ReadOnly(env.Protect(local, protection)),
	} {
		t.Run(kind, func(t *testing.T) {
			for _, name := range []string{".mcp.json", "deep/down/.mcp.json", ".claude/settings.json", ".Claude/x",
				"settings", ".codex/hooks.json", ".agent\u017f/skills/x/SKILL.md",
				".attractor/hooks.json", "\u017fcripts/hooks/x", "abs-hooks/x", dir + "/.mcp.json", "readonly",
				"bare/objects/x", "bare/refs/heads/x", "half/config", "half/objects/x",
				"linked/config", "linked/hooks/x"} {
				if why := env.Guarded(t.Context(), e, name); why == "" {
					t.Errorf("%s does not need approval", name)
				}
			}
			for _, name := range []string{"f", "mcp.json", "src/hooks/useState.ts", "claude", "scripts/x", "new",
				"bare/config"} {
				if why := env.Guarded(t.Context(), e, name); why != "" {
					t.Errorf("%s needs approval: %s", name, why)
				}
			}
		})
	}
	e := env.Protect(local, protection) // it reports and does not refuse
	if err := e.WriteFile(t.Context(), ".mcp.json", []byte("{}"), 0o644); err != nil {
		t.Error(err)
	}
}

func TestI2_ProtectPassesTheSuite(t *testing.T) {
	t.Parallel()
	envtest.Suite(t, func(t *testing.T) env.Environment {
		return env.Protect(newLocal(t, t.TempDir(), env.LocalOptions{}), env.DefaultProtection())
	})
}
