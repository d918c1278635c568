//go:build unix

package env_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// escapeCase is a case of the corpus path_escape.
type escapeCase struct {
	ID, Kind, Op, Open, Path, Header, Outcome string
	FS                                        []string
	Target                                    *string
}

// decidedElsewhere maps cases that do not test where a name leads to what does test them.
var decidedElsewhere = map[string]string{
	"x_agent_dir":           "TestL2_PathsThatAskCorpus of package rules does it",
	"x_agents_md":           "TestL2_PathsThatAskCorpus of package rules does it",
	"x_envrc":               "TestL2_PathsThatAskCorpus of package rules does it",
	"x_vscode_tasks":        "TestL2_PathsThatAskCorpus of package rules does it",
	"x_glob_follow_loop":    "patterns are package search's",
	"x_grep_binary":         "binary files are package search's",
	"x_rename_swap_race":    "TestD2_SwappedLinkNeverEscapes does it",
	"patch_newline_in_name": "parsing headers is package patch's",
}

// protected holds the cases that only an environment made by Protect refuses.
var protected = map[string]bool{"x_case_git": true, "x_git_config": true, "x_git_hooks": true,
	"x_gitfile_pointer": true, "patch_add_git_hook": true}

// decidedDifferently maps cases with another outcome in this package to the reasons.
var decidedDifferently = map[string]string{
	"gv_logfrag":         "a heuristic about what models paste; here it is a plain name",
	"gv_logfrag2":        "a heuristic about what models paste; here it is a plain name",
	"x_hardlink_outside": "a write replaces the name, so the file outside stays as it was; the test checks that",
}

func TestD2_PathEscapeCorpus(t *testing.T) {
	left := map[string]int{}
	defer func() {
		for why, n := range left {
			t.Logf("path_escape: %d cases are tested elsewhere (%s)", n, why)
		}
	}()
	for _, c := range corpus[escapeCase](t, "path_escape") {
		t.Run(c.ID, func(t *testing.T) {
			if why := decidedElsewhere[c.ID]; why != "" {
				left[why]++
				t.Skip(why)
			}
			want := c.Outcome
			if why := decidedDifferently[c.ID]; why != "" {
				t.Log("decided differently: " + why)
				want = map[string]string{"allow": "refuse", "refuse": "allow"}[want]
			}
			w := layOut(t, c)
			if protected[c.ID] {
				w.env = env.Protect(w.env, env.DefaultProtection())
			}
			err := w.try(t, c)
			if got := map[bool]string{true: "allow", false: "refuse"}[err == nil]; got != want {
				t.Errorf("%s %q%q: %s, want %s (%v)", c.Op, c.Path, c.Open, got, want, err)
			}
			w.check(t, c)
		})
	}
}

// world is a root with a secret beside it.
type world struct {
	base, root string
	env        env.Environment
}

const secret = "outside"

// layOut makes the files of a case. Entries that end with a slash are directories, those with an
// arrow are links, others are files.
func layOut(t *testing.T, c escapeCase) world {
	base := t.TempDir()
	w := world{base: base, root: filepath.Join(base, "ROOT")}
	mkdir(t, w.root)
	write(t, base+"/x", secret)
	for _, entry := range c.FS {
		name, target, link := strings.Cut(entry, " => ")
		name, what, special := strings.Cut(name, " (")
		full := filepath.Join(w.root, name)
		mkdir(t, filepath.Dir(full))
		switch {
		case link:
			symlink(t, strings.ReplaceAll(target, "$ABS", w.root), full)
		case strings.HasSuffix(entry, "/"):
			mkdir(t, full)
		case special:
			layOutSpecial(t, full, what, base)
		case c.Op == "list_dir" && entry == "real/x", c.Op == "shell_workdir":
			mkdir(t, full)
		default:
			write(t, full, "inside")
		}
	}
	w.env = newLocal(t, w.root, env.LocalOptions{})
	return w
}

func layOutSpecial(t *testing.T, full, what, base string) {
	var err error
	switch {
	case strings.HasPrefix(what, "fifo"):
		err = syscall.Mkfifo(full, 0o600)
	case strings.HasPrefix(what, "hard link"):
		err = os.Link(base+"/x", full)
	case strings.HasPrefix(what, "mode 0600"):
		write(t, full, "inside")
		err = os.Chmod(full, 0o600)
	case strings.HasPrefix(what, "mode 04755"):
		write(t, full, "inside")
		err = os.Chmod(full, 0o755|fs.ModeSetuid)
	default:
		t.Fatalf("unknown entry (%s", what)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// try uses the path as a tool would.
func (w world) try(t *testing.T, c escapeCase) error {
	ctx := t.Context()
	switch c.Kind + " " + c.Op {
	case "open_in_root ":
		return w.openTarget(t, c)
	case "tool_path validate", "tool_path write", "tool_path apply_patch", "tool_path move":
		if strings.HasSuffix(c.Path, "/") {
			return w.env.WriteFile(ctx, c.Path+"f", []byte("new"), 0o644)
		}
		return w.env.WriteFile(ctx, c.Path, []byte("new"), 0o644)
	case "tool_path read", "tool_path grep":
		return w.read(ctx, c.Path)
	case "tool_path edit":
		if err := w.read(ctx, c.Path); err != nil {
			return err
		}
		return w.env.WriteFile(ctx, c.Path, []byte("new"), 0o644)
	case "tool_path glob", "tool_path list_dir":
		_, err := w.env.ReadDir(ctx, c.Path)
		return err
	case "tool_path delete":
		return w.env.Remove(ctx, c.Path)
	case "tool_path shell_workdir":
		p, err := w.env.Start(ctx, env.Command{Script: "true", Dir: c.Path})
		if err == nil {
			_, err = p.Wait(ctx)
		}
		return err
	case "patch_path ":
		_, path, _ := strings.Cut(c.Header, ": ")
		if strings.HasPrefix(c.Header, "*** Delete") {
			return w.env.Remove(ctx, path)
		}
		return w.env.WriteFile(ctx, path, []byte("new"), 0o644)
	}
	t.Fatalf("unknown kind %q or operation %q", c.Kind, c.Op)
	return nil
}

// openTarget opens a name that must lead to the named target.
func (w world) openTarget(t *testing.T, c escapeCase) error {
	if c.Target != nil {
		full := filepath.Join(w.root, *c.Target)
		if _, err := os.Lstat(full); errors.Is(err, fs.ErrNotExist) {
			mkdir(t, filepath.Dir(full))
			write(t, full, "target")
		}
	}
	return w.read(t.Context(), c.Open)
}

// read reads a file and closes it.
func (w world) read(ctx context.Context, name string) error {
	f, err := w.env.Open(ctx, name)
	if err != nil {
		return err
	}
	_, err = io.ReadAll(f)
	return errors.Join(err, f.Close())
}

// check checks what must hold whatever the outcome.
func (w world) check(t *testing.T, c escapeCase) {
	if got := readFile(t, w.base+"/x"); got != secret {
		t.Errorf("the file outside was changed to %q", got)
	}
	only(t, w.base, "ROOT", "x")
	mode := func(name string) fs.FileMode {
		info, err := os.Stat(filepath.Join(w.root, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	switch c.ID {
	case "x_mode_600":
		if m := mode("k"); m != 0o600 {
			t.Errorf("mode is %v", m)
		}
	case "x_suid_kept":
		if m := mode("s"); m != 0o755 {
			t.Errorf("mode is %v", m)
		}
	case "x_dangling_inside":
		if got := readFile(t, w.root+"/new"); got != "new" {
			t.Errorf("the link's target has %q", got)
		}
	case "x_name_newline_listing", "x_name_ansi_listing":
		// Names are returned unchanged; tools escape them for models.
		if list, err := w.env.ReadDir(t.Context(), "."); err != nil || len(list) != 1 || list[0].Name != c.FS[0] {
			t.Errorf("the listing is %+v, %v", list, err)
		}
	}
}
