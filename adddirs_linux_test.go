package attractor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

// Commands in a sandbox change files in a further directory, but not those that start programs, and
// none outside.
func TestN8_ModesAddDirInASandbox(t *testing.T) {
	peer.Need(t, "bwrap")
	for level, writes := range map[sandbox.Level]bool{sandbox.Workspace: true, sandbox.ReadOnly: false} {
		t.Run(string(level), func(t *testing.T) {
			other, elsewhere := t.TempDir(), t.TempDir()
			put(t, other, "a.txt", "CONTENT")
			put(t, elsewhere, "a.txt", "SECRET")
			script := "cat " + other + "/a.txt; cat " + elsewhere + "/a.txt; echo x >" + other + "/made; echo x >" +
				other + "/.mcp.json; echo x >" + elsewhere + "/made; echo the end"
			b := newBench(t, calls(t, "shell", object{"command": script}), fakellm.Turn{Text: "done"})
			c := b.config()
			c.AddDirs, c.Sandbox = []string{other}, sandbox.Options{Level: level, Cache: t.TempDir(),
				State: t.TempDir()}
			c.Mode = permit.ModeFull
			b.submit(c, "the task")
			results := b.lastResults()
			if !strings.Contains(results, "CONTENT") || strings.Contains(results, "SECRET") ||
				!strings.Contains(results, "the end") {
				t.Errorf("the result: %s", results)
			}
			for name, made := range map[string]bool{other + "/made": writes, other + "/.mcp.json": false,
				elsewhere + "/made": false} {
				if _, err := os.Stat(filepath.Clean(name)); (err == nil) != made {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// Commands in a sandbox also work if a further directory is in the working directory or around it.
// Protected files stay protected.
func TestN8_ModesAddDirNestedInASandbox(t *testing.T) {
	peer.Need(t, "bwrap")
	for name, added := range map[string]string{"the same": ".", "inside": "sub", "around": ".."} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, calls(t, "shell",
				object{"command": "echo x >sub/made; echo x >.mcp.json; echo x >../.mcp.json; echo x >../beside; " +
					"echo the end"}), fakellm.Turn{Text: "done"})
			top := b.dir
			b.dir = filepath.Join(top, "work")
			put(t, b.dir, "sub/a", "x")
			c := b.config()
			c.AddDirs, c.Sandbox = []string{filepath.Join(b.dir, added)}, sandbox.Options{Level: sandbox.Workspace,
				Cache: t.TempDir(), State: t.TempDir()}
			b.submit(c, "the task")
			for file, made := range map[string]bool{"work/sub/made": true, "work/.mcp.json": false, ".mcp.json": false,
				"beside": added == ".."} {
				if _, err := os.Stat(filepath.Join(top, file)); (err == nil) != made {
					t.Errorf("%s: %v; %s", file, err, b.lastResults())
				}
			}
		})
	}
}
