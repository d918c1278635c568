package env_test

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/env/envtest"
)

func TestD7_ReadOnly(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "x")
	l := newLocal(t, dir, env.LocalOptions{})
	for name, e := range map[string]env.Environment{"plain": env.ReadOnly(l), "of sub": env.ReadOnly(env.Sub(l, ".")),
		"in sub": env.Sub(env.ReadOnly(l), ".")} {
		t.Run(name, func(t *testing.T) {
			_, startErr := e.Start(t.Context(), env.Command{Script: "rm f"})
			for op, err := range map[string]error{
				"write":  e.WriteFile(t.Context(), "f", nil, 0o644),
				"create": e.WriteFile(t.Context(), "g", nil, 0o644),
				"remove": e.Remove(t.Context(), "f"),
				"start":  startErr,
			} {
				if !errors.Is(err, env.ErrReadOnly) || !errors.Is(err, fs.ErrPermission) {
					t.Errorf("%s: error %v", op, err)
				}
			}
			if info, err := e.Stat(t.Context(), "f"); err != nil || info.Size != 1 {
				t.Errorf("Stat: %+v, %v", info, err)
			}
			if list, err := e.ReadDir(t.Context(), "."); err != nil || len(list) != 1 {
				t.Errorf("ReadDir: %+v, %v", list, err)
			}
			f, err := e.Open(t.Context(), "f")
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestD7_SubMovesNamesAndCommands(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "a/b"))
	write(t, filepath.Join(dir, "top"), "12")
	l := newLocal(t, dir, env.LocalOptions{})
	s := env.Sub(env.Sub(l, "a"), "b")
	if want := l.WorkDir() + "/a/b"; s.WorkDir() != want {
		t.Errorf("WorkDir is %q, want %q", s.WorkDir(), want)
	}
	if err := s.WriteFile(t.Context(), "f", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a/b/f")); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"../../top", l.WorkDir() + "/top"} {
		if info, err := s.Stat(t.Context(), name); err != nil || info.Size != 2 {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	for _, name := range []string{"../../../etc", "", "~/x", "/etc/passwd"} {
		if _, err := s.Stat(t.Context(), name); !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: error %v, want a refusal", name, err)
		}
	}
	for cmdDir, want := range map[string]string{"": "f\n", "..": "b\n", l.WorkDir() + "/a": "b\n"} {
		var out capture.Buffer
		if _, err := env.Run(t.Context(), s, env.Command{Script: "ls", Dir: cmdDir, Output: out.Write},
			0); err != nil || out.Text() != want {
			t.Errorf("ls in %q: %q, %v", cmdDir, out.Text(), err)
		}
	}
	if abs := env.Sub(l, l.WorkDir()+"/a/"); abs.WorkDir() != l.WorkDir()+"/a" {
		t.Errorf("WorkDir is %q", abs.WorkDir())
	}
}

// Views of views pass the parts of the suite that apply.
func TestD7_WrappersCompose(t *testing.T) {
	var local env.Environment // of the current check
	inDir := func(t *testing.T) env.Environment {
		dir := t.TempDir()
		mkdir(t, filepath.Join(dir, "a/b"))
		return env.Sub(newLocal(t, dir, env.LocalOptions{}), "a/b")
	}
	log := slog.New(slog.DiscardHandler)
	const why = "ReadOnly refuses it"
	readOnly := envtest.Options{
		Lacks:   map[envtest.Feature]string{envtest.Writing: why, envtest.Commands: why},
		Arrange: func(env.Environment) env.Environment { return local },
	}
	t.Run("Logging of ReadOnly of Sub", func(t *testing.T) {
		envtest.SuiteWith(t, func(t *testing.T) env.Environment {
			local = inDir(t)
			return env.Logging(env.ReadOnly(local), log)
		}, readOnly)
	})
	t.Run("Sub of ReadOnly of Logging", func(t *testing.T) {
		envtest.SuiteWith(t, func(t *testing.T) env.Environment {
			dir := t.TempDir()
			mkdir(t, filepath.Join(dir, "a/b"))
			l := newLocal(t, dir, env.LocalOptions{})
			local = env.Sub(l, "a/b")
			return env.Sub(env.ReadOnly(env.Logging(l, log)), "a/b")
		}, readOnly)
	})
	e := env.Logging(env.ReadOnly(inDir(t)), log)
	if level := env.ConfinementOf(e).Containment; level == "unknown" {
		t.Errorf("Containment is %q", level)
	}
}

// hiding is an environment that hides its host.
type hiding struct{ env.Environment }

func (hiding) Confinement() env.Confinement { return env.Confinement{HidesHost: true} }

func TestI4_WrappersForwardHidesHost(t *testing.T) {
	e := hiding{newLocal(t, t.TempDir(), env.LocalOptions{Containment: env.ContainGroup})}
	for name, wrapped := range map[string]env.Environment{
		"ReadOnly": env.ReadOnly(e), "Sub": env.Sub(e, "."), "Logging": env.Logging(e, slog.New(slog.DiscardHandler)),
		"Protect": env.Protect(e, env.Protection{}),
	} {
		if !env.ConfinementOf(wrapped).HidesHost {
			t.Errorf("%s: not hidden", name)
		}
		if env.ConfinementOf(env.ReadOnly(e.Environment)).HidesHost {
			t.Error("a wrapper does not forward HidesHost")
		}
	}
}
