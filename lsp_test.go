package attractor

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

// until returns a model that makes a call, then runs a command until a text is in a result, and
// then is done. It gives up after many rounds.
func until(t *testing.T, text, shell, argument, command string, first fakellm.Turn) fakellm.Model {
	return func(r *fakellm.Request) fakellm.Turn {
		switch n := r.Turn(); {
		case n == 0:
			return first
		case n > 300 || strings.Contains(string(r.Body), text):
			return fakellm.Turn{Text: "done"}
		}
		return calls(t, shell, object{argument: command})
	}
}

// A session in which an edit breaks a caller: in each profile and dialect the model reads the new
// error, of the whole package, and no old one.
func TestM11_InSessions(t *testing.T) {
	goplsInPath(t)
	const edited = "package m\n\nfunc F(a, b int) int { return a }\n\nvar old = missing\n"
	patch := "*** Begin Patch\n*** Update File: a.go\n@@\n-func F(a int) int { return a }\n+func F(a, b int) int { " +
		"return a }\n*** End Patch\n"
	for name, c := range map[string]struct {
		edit            fakellm.Turn
		shell, argument string
	}{
		"anthropic": {calls(t, "edit_file",
			object{"file_path": "a.go", "old_string": "(a int)", "new_string": "(a, b int)"}), "shell", "command"},
		"anthropic native": {calls(t, "Edit", object{"file_path": "DIR/a.go", "old_string": "(a int)",
			"new_string": "(a, b int)"}), "Bash", "command"},
		"openai": {calls(t, "apply_patch", object{"patch": patch}), "shell", "command"},
		"openai native": {calls(t, "exec_command", object{"cmd": "apply_patch <<'EOF'\n" + patch + "EOF"}),
			"exec_command", "cmd"},
		"gemini": {calls(t, "write_file", object{"file_path": "a.go", "content": edited}), "shell",
			"command"},
		"gemini native": {calls(t, "replace", object{"file_path": "DIR/a.go", "old_string": "(a int)",
			"new_string": "(a, b int)", "instruction": "add one"}), "run_shell_command", "command"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSkillful(t)
			s.module()
			edit := c.edit
			edit.Calls[0].Args = []byte(strings.ReplaceAll(string(edit.Calls[0].Args), "DIR", s.dir))
			var read fakellm.Turn
			if tool := map[string]string{"anthropic native": "Read", "gemini native": "read_file",
				"gemini": "read_file"}[name]; tool != "" {
				read = calls(t, tool, object{"file_path": s.dir + "/a.go"}) // they must have read what they edit
			} else {
				read = calls(t, c.shell, object{c.argument: "cat a.go"})
			}
			model := until(t, "New problems", c.shell, c.argument, "sleep 0.1", edit)
			s.serve(func(r *fakellm.Request) fakellm.Turn {
				switch n := r.Turn(); n {
				case 0:
					return read
				case 1:
					return edit
				}
				return model(r)
			})
			family, _, _ := strings.Cut(name, " ")
			config := s.config(family, strings.Contains(name, "native"))
			config.Mode, config.Ask, config.LanguageServers = permit.ModeFull, nil, AllLanguageServers
			s.submit(config, "the task", s.listen)
			s.toldOfTheCaller()
		})
	}
}

// module writes a Go module with an error and a call of F in another file.
func (s *skillful) module() {
	put(s.T, s.dir, "go.mod", "module example.org/m\n\ngo 1.25\n")
	put(s.T, s.dir, "a.go", "package m\n\nfunc F(a int) int { return a }\n\nvar old = missing\n")
	put(s.T, s.dir, "b.go", "package m\n\nvar used = F(1)\n")
}

// toldOfTheCaller checks that the model was told of the broken call in b.go, and not of the old
// error.
func (s *skillful) toldOfTheCaller() {
	s.Helper()
	got := s.lastResults()
	if !strings.Contains(got,
		"reported by gopls:]\nb.go:3:15: error: not enough arguments in call to F have (number) want (int, int)") ||
		strings.Contains(got, "undefined: missing") {
		s.Errorf("the results:\n%s", got)
	}
	if warnings := s.warnings("lsp"); warnings != nil {
		s.Error(warnings)
	}
}

// goplsInPath puts gopls into the sessions' PATH.
func goplsInPath(t *testing.T) {
	t.Helper()
	peer.Need(t, "gopls")
	peer.InPath(t)
}

// Without a sandbox a server starts only in a project that somebody has trusted. In a sandbox the
// user's always do, and the project's own servers only with trust.
func TestM11_WhichServersStart(t *testing.T) {
	t.Parallel()
	const server = `": {"command": "sh", "args": ["-c", "touch started"], "extensionToLanguage": {".txt": "text"}}`
	const mine, ours = `{"mine` + server + `}`, `{"ours` + server + `}`
	const refused = "the language server mine does not start: "
	for name, c := range map[string]struct {
		chosen, project string
		change          func(*config)
		started         bool
		lsp, untrusted  string // the warnings
	}{
		"off":   {chosen: "off", project: ours},
		"empty": {},
		"nobody asked": {chosen: "auto",
			lsp: refused + "it may run programs of the project without a sandbox, and nobody has said that they " +
				"trust the project"},
		"untrusted": {chosen: "auto", project: ours,
			lsp:       refused + "it reads the project's build files without a sandbox, and ",
			untrusted: "language servers: ours. To see the files"},
		"trusted": {chosen: "auto", project: ours, change: func(c *config) { c.TrustProject = true },
			started: true, lsp: "mine is off"},
		"the project's": {chosen: "ours", project: ours, change: func(c *config) { c.TrustProject = true },
			started: true, lsp: "ours is off"},
		"by name": {chosen: "mine", change: func(c *config) { c.TrustProject = true }, started: true,
			lsp: "mine is off"},
		"untrusted in sandbox": {chosen: "auto", project: ours, change: boxed(t), started: true, lsp: "mine is off",
			untrusted: "language servers: ours"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSkillful(t)
			put(t, s.home, ".config/attractor/lsp.json", mine)
			if c.project != "" {
				put(t, s.dir, ".attractor/lsp.json", c.project)
			}
			config := s.config("anthropic", false)
			config.Mode, config.Ask, config.LanguageServers = permit.ModeFull, nil, c.chosen
			if c.change != nil {
				if c.change(&config); config.Sandbox.Level != "" {
					peer.Need(t, "bwrap")
				}
			}
			command := "ls"
			if c.started {
				command = "sleep 0.1; test -e started && echo IT HAS $((40+2)); rm -f started"
			}
			n := 0
			var off atomic.Bool // the user has been told that it is off
			wait := until(t, "IT HAS 42", "shell", "command", command,
				calls(t, "write_file", object{"file_path": "a.txt", "content": "0"}))
			s.serve(func(r *fakellm.Request) fakellm.Turn {
				if n = r.Turn(); !c.started && n > 1 {
					return fakellm.Turn{Text: "done"}
				}
				if c.started && n > 0 && n < 300 && !off.Load() {
					return calls(t, "write_file", object{"file_path": "b.txt", "content": strings.Repeat("x", n)})
				}
				return wait(r)
			})
			config.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", s.url, "HOME", s.home)
			s.submit(config, "the task", func(o *agent.Options) {
				s.listen(o)
				listen := o.OnEvent
				o.OnEvent = func(ev agent.Event) {
					listen(ev)
					if w, ok := ev.(*agent.Warning); ok && strings.Contains(w.Text, "is off for the rest") {
						off.Store(true)
					}
				}
			})
			if got := strings.Contains(s.lastResults(), "IT HAS 42"); got != c.started {
				t.Errorf("started: %t", got)
			}
			for code, want := range map[string]string{"lsp": c.lsp, "untrusted": c.untrusted} {
				if got := strings.Join(s.warnings(code), "\n"); (got == "") != (want == "") ||
					!strings.Contains(got, want) {
					t.Errorf("%s: %q, want %q", code, got, want)
				}
			}
		})
	}
}

// Where nobody has trusted the project, no server is a program of it, also where PATH has a
// directory of the project.
func TestM11_NoServerOfTheProjectsPrograms(t *testing.T) {
	for name, trusted := range map[string]bool{"nobody": false, "trusted": true} {
		t.Run(name, func(t *testing.T) {
			s := newSkillful(t)
			s.module()
			put(t, s.dir, "bin/gopls", "#!/bin/sh\n>"+s.dir+"/started\n")
			if err := os.Chmod(filepath.Join(s.dir, "bin/gopls"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", filepath.Join(s.dir, "bin")+":./bin:/usr/bin:/bin")
			edit := calls(t, "write_file", object{"file_path": "c.go", "content": "package m\n"})
			isStarted := func() bool {
				_, err := os.Stat(filepath.Join(s.dir, "started"))
				return err == nil
			}
			var warned atomic.Bool // that it is not installed
			s.serve(func(r *fakellm.Request) fakellm.Turn {
				switch n := r.Turn(); {
				case n == 0:
					return edit
				case n > 300 || warned.Load() || isStarted():
					return fakellm.Turn{Text: "done"}
				}
				return calls(t, "shell", object{"command": "sleep 0.1"})
			})
			config := s.config("anthropic", false)
			config.Mode, config.Ask, config.LanguageServers, config.TrustProject = permit.ModeFull, nil, "gopls",
				trusted
			s.submit(config, "the task", func(o *agent.Options) {
				s.listen(o)
				listen := o.OnEvent
				o.OnEvent = func(ev agent.Event) {
					listen(ev)
					if w, ok := ev.(*agent.Warning); ok && w.Code == "lsp" {
						warned.Store(true)
					}
				}
			})
			if got := isStarted(); got != trusted {
				t.Errorf("started: %t", got)
			}
		})
	}
}

// boxed returns a change of a configuration that confines commands.
func boxed(t *testing.T) func(*config) {
	cache := t.TempDir()
	return func(c *config) { c.Sandbox = sandbox.Options{Level: sandbox.Workspace, Cache: cache} }
}

// A name that no server has is an error that names those there are. Mistakes in files are warnings.
func TestM11_ChoosingServers(t *testing.T) {
	s := newSkillful(t, fakellm.Turn{Text: "done"})
	put(t, s.home, ".config/attractor/lsp.json", `{"mine": {"command": 1}}`)
	config := s.config("anthropic", false)
	config.LanguageServers = "gopls,gols"
	_, err := prepare(t.Context(), config)
	if want := "there is no language server gols; choose auto or off, or some of gopls, typescript, pyright, " +
		"rust-analyzer, clangd"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	config.LanguageServers = "gopls, pyright"
	s.submit(config, "the task", s.listen)
	if got := strings.Join(s.warnings("lsp_config"),
		"\n"); got != "HOME/.config/attractor/lsp.json, line 1: the language server mine: command must not be or "+
		"have a JSON number" {
		t.Error(got)
	}
}
