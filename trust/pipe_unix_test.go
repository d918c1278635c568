//go:build unix

package trust_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A named pipe where a file should be is a problem, and nothing waits for its other end. So is a
// file that cannot be read.
func TestL10_NoRegularFile(t *testing.T) {
	p := newProject(t, ".claude/hooks/a.sh", "", ".claude/agents/x.md", "x")
	p.must(syscall.Mkfifo(filepath.Join(p.dir, ".mcp.json"), 0o600))
	p.must(syscall.Mkfifo(filepath.Join(p.dir, ".claude/hooks/pipe"), 0o600))
	p.must(os.Chmod(filepath.Join(p.dir, ".claude/agents/x.md"), 0))
	s := p.scan()
	for _, name := range []string{".mcp.json", ".claude/hooks/pipe"} {
		if err := s.Err(name); err == nil || !strings.Contains(err.Error(), "named pipe") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Err(".claude/agents/x.md"); err == nil && os.Geteuid() != 0 {
		t.Error("an unreadable file is no problem")
	}
}
