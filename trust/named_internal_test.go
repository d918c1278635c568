package trust

import (
	"path/filepath"
	"testing"
)

// Whatever a project's files hold, they are described and name only files of the project.
func FuzzFiles(f *testing.F) {
	for _, seed := range []string{
		`{"permissions":{"allow":["Bash(ls:*)",{"rule":"Edit"}]},"hooks":{"Stop":[{"hooks":[{"command":"sh ./a.sh"}]}]}}`,
		`{"mcpServers":{"x":{"command":"a.sh","args":["../../etc/passwd"]}},"hooks":[[[{"":"a.sh"}]]]}`,
		"---\nhooks:\n  - command: \"a.sh\n---\n",
		"[mcp_servers.x]\ncommand = \"a.sh\"\nargs = ['",
		`{"hooks":{"hooks":"$CLAUDE_PROJECT_DIR/a.sh"}}}}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Snapshot{}
		for _, file := range []File{{Name: ".mcp.json", Kind: Servers}, {Name: "a/settings.json", Kind: Settings},
			{Name: "hooks.json", Kind: Hooks},
			{Name: "config.toml", Kind: Settings}, {Name: "x.md", Kind: Agents}} {
			file.Data = data
			s.Files = append(s.Files, file)
			left := maxParsed
			w := newWatcher("/project", "/project", &left)
			w.read = func(string) []byte { return data }
			w.file(&file)
			for _, name := range append(w.named, w.running...) {
				if !filepath.IsLocal(name) || name == "." {
					t.Errorf("%s names %q", file.Name, name)
				}
			}
		}
		if got := s.Effects(); len(got) > 5*maxEffects {
			t.Errorf("%d effects", len(got))
		}
	})
}
