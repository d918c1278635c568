package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/seed"
)

// Very many settings of a section with a long name are refused before they fill the memory.
func TestL2_ConfigOfLongNames(t *testing.T) {
	long := "[a \"" + strings.Repeat("x", maxFile/2) + "\"]\n"
	list, err := ParseConfig(long + strings.Repeat("a=1\n", 10))
	if err != nil || len(list) != 10 {
		t.Errorf("%d settings, %v", len(list), err)
	}
	if list, err := ParseConfig(long + strings.Repeat("a=1\n", 100)); err == nil {
		t.Errorf("%d settings with a name of %d bytes each are taken", len(list), len(list[0].Name))
	}
}

// TestL2_ConfigIsGits compares the parser of git's configuration with git: what it does not refuse,
// it has to understand as git does.
func TestL2_ConfigIsGits(t *testing.T) {
	program := peer.Need(t, "git")
	file := filepath.Join(t.TempDir(), "config")
	pieces := []string{"[core]", "[CORE]", "[a.b]", "[a \"B c\"]", "[a \"\\\"x\\\\\"]", "[x]", "\n", "\n", "\n", "\n\t",
		" ", "fsmonitor", "FsMonitor", "key", "k-1", " = ", "=", "value", "\"", "\"a;b\"", "\\",
		"\\\n", "\\n", "\\\"", "# x", "; x", "true", "]", "[", "~/x", "\t", "\r\n", "\r", "\x00", "\v", "\f", "\x01",
		"\xff", "a b", "  ", "key = value\n", "[core]\nfsmonitor = x\n"}
	understood := 0
	seed.Check(t, func(t *rapid.T) {
		text := "[s]\n" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 14).Draw(t, "pieces"), "")
		list, err := ParseConfig(text)
		if err != nil {
			return
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "config", "-f", file, "--list", "-z")
		out, err := cmd.Output()
		if err != nil {
			return // git refuses the file, so it runs nothing
		}
		understood++
		var want, got []string
		for _, entry := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if entry != "" {
				want = append(want, entry)
			}
		}
		for _, s := range list {
			if s.Bare {
				got = append(got, s.Name)
			} else {
				got = append(got, s.Name+"\n"+s.Value)
			}
		}
		tabs := func(list []string) []string { // some versions of git make spaces of them
			return strings.Split(strings.ReplaceAll(strings.Join(list, "\x00"), "\t", " "), "\x00")
		}
		if !slices.Equal(tabs(got), tabs(want)) {
			t.Fatalf("%q is %q to git, but taken for %q", text, want, got)
		}
	})
	if understood == 0 {
		t.Error("nothing was compared")
	}
}
