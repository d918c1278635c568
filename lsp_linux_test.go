package attractor

import (
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/permit"
)

// gopls works in the sandbox of commands, without a network and although nobody trusts the project.
func TestM11_GoplsInASandbox(t *testing.T) {
	goplsInPath(t)
	peer.Need(t, "bwrap")
	s := newSkillful(t)
	s.module()
	put(t, s.dir, ".attractor/lsp.json", "{}")
	s.serve(until(t, "New problems", "shell", "command", "sleep 0.1; ps ax | grep -v grep | grep -c gopls; which gopls",
		calls(t, "edit_file", object{"file_path": "a.go", "old_string": "(a int)", "new_string": "(a, b int)"})))
	config := s.config("anthropic", false)
	config.Mode, config.Ask, config.LanguageServers = permit.ModeFull, nil, "gopls"
	boxed(t)(&config)
	s.submit(config, "the task", s.listen)
	s.toldOfTheCaller()
}
