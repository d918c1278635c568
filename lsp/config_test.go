package lsp_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/lsp"
)

func TestM11_Configuration(t *testing.T) {
	const good = `"command": "zls", "extensionToLanguage": {".zig": "zig"}`
	for name, c := range map[string]struct{ file, servers, problem string }{
		"whole": {`{"$schema": "x", "zig": {"command": "zls", "args": ["-v"], "extensionToLanguage": {".zig": "zig", ".c++": "cpp"}, "env": {"A": "b'c"},
			"initializationOptions": [1], "settings": {"zls": {"x": 1}}}}`, "zig", ""},
		"none":     {`{}`, "", ""},
		"bom":      {"\xef\xbb\xbf{\"zig\": {" + good + "}}", "zig", ""},
		"disabled": {`{"gopls": {"disabled": true}}`, "gopls", ""},
		"claude's": {"{\"zig\": {" + good + ",\n\"transport\": \"stdio\"}}", "zig",
			"f, line 2: the language server zig: transport has no effect here; supported are command,"},
		"socket": {"{\"zig\": {" + good + ",\n\"transport\": \"socket\"}}", "",
			"f, line 2: the language server zig: transport is not supported"},
		"unknown": {"{\"a\": {" + good + ",\n\n\"comand\": 1},\n\"zig\": {" + good + "}}", "zig",
			"f, line 3: the language server a: comand is not supported; supported are command"},
		"no command": {"{\n\"zig\": {\"extensionToLanguage\": {\".zig\": \"zig\"}}}", "",
			"f, line 2: the language server zig: it needs a command and extensionToLanguage"},
		"wrong type": {`{"zig": {"command": ["zls"]}}`, "",
			"f, line 1: the language server zig: command must not be or have a JSON array"},
		"wrong ending": {`{"zig": {"command": "zls", "extensionToLanguage": {"*.zig": "zig"}}}`, "",
			"*.zig is no ending of file names"},
		"ending with path": {`{"zig": {"command": "zls", "extensionToLanguage": {".a/b": "zig"}}}`, "",
			".a/b is no ending"},
		"wrong variable": {`{"zig": {` + good + `, "env": {"A;x": "1"}}}`, "", "the variable A;x cannot be set"},
		"null settings":  {`{"zig": {` + good + `, "settings": null}}`, "", "settings must be an object"},
		"wrong settings": {`{"zig": {` + good + `, "settings": 1}}`, "", "settings must be an object"},
		"wrong name":     {`{"z\u001big": {` + good + `}}`, "", "its name must have letters"},
		"twice": {`{"zig": {` + good + `}, "zig": {` + good + `}}`, "",
			"f, line 1: the language server zig: it is there twice"},
		"no object": {"\n[]", "", "f: line 2: it must be an object"},
		"too early": {"{\n\"zig\": {", "", "f: line 2: the file ends too early"},
		"empty":     {"", "", "f: line 1: the file ends too early"},
		"no json":   {"{\n\"zig\": x}", "", "f: line 2: it is not JSON"},
		"a rest":    {"{}\nx", "", "something after the end"},
		"long":      {strings.Repeat(" ", lsp.MaxConfig+1), "", "more than 1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			servers, problems := lsp.Parse("f", []byte(c.file), lsp.User)
			var found []string
			for _, s := range servers {
				found = append(found, s.Name)
			}
			if got := strings.Join(found, " "); got != c.servers {
				t.Errorf("servers %q, want %q", got, c.servers)
			}
			if len(problems) > 1 || (len(problems) == 1) != (c.problem != "") || len(problems) == 1 &&
				!strings.Contains(problems[0].Error(), c.problem) {
				t.Errorf("problems %q, want %q", problems, c.problem)
			}
		})
	}
}

// The user's servers replace those of the project, which is told, and those of the table, which is
// not.
func TestM11_Merge(t *testing.T) {
	user, _ := lsp.Parse("u",
		[]byte(`{"gopls": {"disabled": true}, "zig": {"command": "mine", "extensionToLanguage": {".zig": "zig"}}}`),
		lsp.User)
	project, _ := lsp.Parse("p", []byte(`{"zig": {"command": "theirs", "extensionToLanguage": {".zig": "zig"}}}`),
		lsp.Project)
	servers, shadowed := lsp.Merge(user, project, lsp.Defaults())
	for _, s := range servers {
		if s.Name == "gopls" || s.Command == "theirs" {
			t.Errorf("%+v is used", s)
		}
	}
	if len(servers) != len(lsp.Defaults()) || len(shadowed) != 1 ||
		shadowed[0].Error() != "the language server zig of p is not used, because u has one with the same name" {
		t.Errorf("%d servers, shadowed: %q", len(servers), shadowed)
	}
}

// FuzzM11_Parse reads arbitrary files.
func FuzzM11_Parse(f *testing.F) {
	f.Add([]byte(`{"zig": {"command": "zls", "extensionToLanguage": {".zig": "zig"}, "env": {"A": "b"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		servers, problems := lsp.Parse("f", data, lsp.Project)
		for _, s := range servers {
			if s.Name == "" || !s.Disabled && (s.Command == "" || len(s.Languages) == 0) {
				t.Errorf("%+v", s)
			}
		}
		for _, p := range problems {
			if strings.ContainsAny(p.Error(), "\n\x1b") {
				t.Errorf("%q", p.Error())
			}
		}
	})
}
