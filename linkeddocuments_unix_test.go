//go:build unix

package attractor

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/profile/profiles"
)

// What a link with the name of a secret leads to is no document: in the directories of the session,
// in the repository above them, and in the home directory.
func TestU23_SecretsThatAreLinksAreNoDocuments(t *testing.T) {
	for _, below := range []string{"", "sub"} {
		s := newSkillful(t)
		s.repository()
		top := s.dir
		imports := "See @dev.settings and @nr and @keys/x and @aws/credentials and @ok.md"
		put(t, top, "AGENTS.md", imports)
		put(t, top, "sub/AGENTS.md", "See @../dev.settings and @../keys/x and @ok.md")
		put(t, top, "sub/in/AGENTS.md", "See @../../dev.settings and @more.md")
		put(t, top, "sub/in/x", "")
		put(t, top, "sub/in/more.md", "FINE TOO")
		for _, name := range []string{"dev.settings", "nr", "keys/x", "aws/credentials"} {
			put(t, top, name, "SECRET")
		}
		put(t, top, "ok.md", "FINE")
		put(t, top, "sub/ok.md", "FINE")
		in := func(name string) string { return filepath.Join(top, name) }
		lead(t, map[string]string{in(".env"): "dev.settings", in(".ssh"): "keys",
			filepath.Join(s.home, ".netrc"): in("nr"), filepath.Join(s.home, ".aws"): in("aws"),
			in("CLAUDE.md"): "dev.settings"})
		s.dir = filepath.Join(top, below)
		s.serve(fakellm.Script(calls(t, "read_file", object{"file_path": filepath.Join(top, "sub/in/x")}),
			fakellm.Turn{Text: "done"}))
		s.submit(s.config("anthropic", false), "the task", s.listen)
		last := s.server.Requests()[1]
		if body := string(last.Body); strings.Contains(body, "SECRET") || !strings.Contains(body, "FINE TOO") ||
			!strings.Contains(last.System, "FINE") {
			t.Errorf("in %q the request is\n%s", below, body)
		}
		told := strings.Join(s.warnings("instructions"), "\n")
		if !strings.Contains(told, "dev.settings is not imported: a link to it has the name of a file that "+
			"usually holds") {
			t.Errorf("the warnings are %s", told)
		}
		p, err := profiles.Find("anthropic", false)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("HOME", s.home)
		found, err := FindDocuments(t.Context(), s.dir, agent.Options{Profile: p})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(found.Text, "SECRET") {
			t.Errorf("the documents are\n%s", found.Text)
		}
	}
}
