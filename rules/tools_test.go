package rules_test

import (
	"slices"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/profile/gemini"
	"github.com/attractor-go/attractor/profile/openai"
	"github.com/attractor-go/attractor/tool"
)

// calls holds for each tool of a profile the arguments of a call, what is decided about it without
// rules, and the rules whose denial covers the tool.
var calls = map[string]struct {
	args   map[string]any
	want   string
	denied []string
}{
	"read_file":       {map[string]any{"file_path": "a"}, "allow", []string{"Read", "Read(a)", "read_file"}},
	"read_many_files": {map[string]any{"paths": []string{"a"}}, "allow", []string{"Read", "Read(a)"}},
	"view_image":      {map[string]any{"path": "a"}, "allow", []string{"Read", "Read(a)"}},
	"list_dir": {map[string]any{"path": "d"}, "allow",
		[]string{"Read", "LS", "Read(d)", "LS(d)", "Read(./d/**)"}},
	"list_directory": {map[string]any{"dir_path": "d"}, "allow", []string{"Read", "LS", "Read(d)"}},
	"grep": {map[string]any{"pattern": "x", "path": "d"}, "allow",
		[]string{"Read", "Grep", "Read(d)", "Grep(d)"}},
	"grep_search": {map[string]any{"pattern": "x", "dir_path": "d"}, "allow",
		[]string{"Read", "Grep", "Read(d)"}},
	"glob": {map[string]any{"pattern": "x", "path": "d", "dir_path": "d"}, "allow",
		[]string{"Read", "Glob", "Read(d)"}},
	"write_file": {map[string]any{"file_path": "a", "content": "x"}, "ask",
		[]string{"Edit", "Write", "Edit(a)", "Write(a)"}},
	"edit_file": {map[string]any{"file_path": "a", "old_string": "x", "new_string": "y"}, "ask",
		[]string{"Edit", "Edit(a)", "MultiEdit"}},
	"replace": {map[string]any{"file_path": "a", "instruction": "i", "old_string": "x", "new_string": "y"}, "ask",
		[]string{"Edit", "Edit(a)"}},
	"apply_patch": {map[string]any{"patch": addPatch}, "ask", []string{"Edit", "Edit(new)"}},
	"shell": {map[string]any{"command": "touch a"}, "ask",
		[]string{"Bash", "Bash(touch:*)", "Bash(*)", "shell"}},
	"run_shell_command": {map[string]any{"command": "touch a", "dir_path": "d"}, "ask",
		[]string{"Bash", "Bash(touch:*)"}},
	"exec_command": {map[string]any{"cmd": "touch a"}, "ask", []string{"Bash", "Bash(touch:*)"}},
	"process": {map[string]any{"id": "1", "action": "write", "input": "x\n"}, "ask",
		[]string{"Bash", "process"}},
	"write_stdin":               {map[string]any{"session_id": 1, "chars": "x\n"}, "ask", []string{"Bash"}},
	"list_background_processes": {map[string]any{}, "allow", []string{"list_background_processes"}},
	"read_background_output":    {map[string]any{"pid": 1}, "allow", []string{"read_background_output"}},
	"TaskStop":                  {map[string]any{"task_id": "1"}, "allow", []string{"TaskStop"}},
	"read_output":               {map[string]any{"id": "x"}, "allow", []string{"read_output"}},
	"ask_user":                  {map[string]any{"question": "x"}, "allow", []string{"AskUserQuestion", "ask_user"}},
	"request_user_input": {map[string]any{"questions": []any{map[string]any{"id": "q", "header": "h",
		"question": "x", "options": []any{}}}}, "allow", []string{"AskUserQuestion"}},
	"update_plan": {map[string]any{"plan": []any{}}, "allow", []string{"TodoWrite", "update_plan"}},
	"spawn_agent": {map[string]any{"task": "x"}, "allow", []string{"Agent", "Task", "spawn_agent"}},
	"send_input":  {map[string]any{"agent_id": "1", "message": "x"}, "allow", []string{"Agent"}},
	"invoke_agent": {map[string]any{"agent_name": "generalist", "prompt": "x"}, "allow",
		[]string{"Agent", "Agent(generalist)"}},
	"wait":        {map[string]any{"agent_id": "1"}, "allow", []string{"wait"}},
	"close_agent": {map[string]any{"agent_id": "1"}, "allow", []string{"close_agent"}},
	"Agent": {map[string]any{"description": "x", "prompt": "x", "subagent_type": "general-purpose"},
		"allow", []string{"Agent", "Agent(general*)", "Task"}},
	"SendMessage": {map[string]any{"to": "1", "message": "x"}, "allow", []string{"Agent"}},
	"Bash":        {map[string]any{"command": "touch a"}, "ask", []string{"Bash", "Bash(touch *)"}},
	"Read":        {map[string]any{"file_path": "a"}, "allow", []string{"Read", "Read(a)"}},
	"Write":       {map[string]any{"file_path": "a", "content": "x"}, "ask", []string{"Edit", "Write", "Write(a)"}},
	"Edit": {map[string]any{"file_path": "a", "old_string": "x", "new_string": "y"}, "ask",
		[]string{"Edit", "Edit(a)"}},
}

const addPatch = "*** Begin Patch\n*** Add File: new\n+x\n*** End Patch"

// Every tool of every profile and dialect is covered by the rules that its kind suggests, and
// decided about sensibly without any.
func TestL1_EveryToolHasItsRules(t *testing.T) {
	p := newProject(t, "a", "d/x")
	e := env.Protect(p.env, env.DefaultProtection())
	none, used := p.load(`{}`), map[string]bool{}
	for _, prof := range []profile.Profile{anthropic.Profile(), anthropic.Native(), openai.Profile(), openai.Native(),
		gemini.Profile(), gemini.Native()} {
		registry, err := tool.NewRegistry(prof.Tools...)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range registry.Names() {
			c, ok := calls[name]
			if !ok {
				t.Errorf("%s: the tool %s has no case here, and perhaps no kind in tools.go", prof.Name, name)
				continue
			}
			used[name] = true
			req := p.requestOf(e, registry, name, c.args)
			if d := none.Decide(t.Context(), e, req); d.Verdict.String() != c.want || !d.Default || d.Rule != "" {
				t.Errorf("%s %s: %s (%s), want %s by default", prof.Name, name, d.Verdict, d.Reason, c.want)
			}
			for _, rule := range c.denied {
				if d := p.load(`{"deny": ["`+rule+`"], "allow": ["Bash", "Read", "Edit", "Agent", "`+name+
					`"]}`).Decide(t.Context(), e, req); d.Verdict != tool.Deny {
					t.Errorf("%s %s: %s does not deny it, but %s (%s)", prof.Name, name, rule, d.Verdict, d.Rule)
				}
			}
			for _, rule := range []string{"WebFetch", "mcp__x", "Skill", "Bash(other)", "Read(other)", "Edit(other)",
				"Agent(other)"} {
				if d := p.load(`{"deny": ["`+rule+`"]}`).Decide(t.Context(), e, req); d.Verdict == tool.Deny {
					t.Errorf("%s %s: %s denies it", prof.Name, name, rule)
				}
			}
		}
	}
	for name := range calls {
		if !used[name] {
			t.Errorf("no profile has the tool %s", name)
		}
	}
}

// Rules that deny or ask about a command count for a program's own tool that says that it runs the
// command. Only one with the tool's name allows its calls, because it may do more.
func TestL1_OwnToolThatRunsCommands(t *testing.T) {
	p := newProject(t, "a")
	for _, c := range []struct{ permissions, script, want string }{
		{`{}`, "touch b", "ask"},
		{`{}`, "cat a", "ask"},
		{`{"allow": ["Bash(touch:*)", "Bash(touch b)", "Bash(*)", "Bash"]}`, "touch b", "ask"},
		{`{"allow": ["run"], "ask": ["Bash(touch:*)"]}`, "touch b", "ask"},
		{`{"allow": ["run"]}`, "touch b; rm a", "allow"},
		{`{"allow": ["run"], "deny": ["Bash(git push:*)"]}`, "cd d && git push", "deny"},
		{`{"allow": ["run"], "deny": ["Bash"]}`, "cat a", "deny"},
		{`{"allow": ["run"], "deny": ["Edit(a)"]}`, "echo x > a", "deny"},
		{`{"allow": ["Bash"], "deny": ["run"]}`, "cat a", "deny"},
	} {
		req := tool.Request{Dir: p.dir, Call: llm.ToolCall{ID: "1", Name: "run", Args: "{}"},
			Access: tool.Access{Effect: tool.Exclusive, Command: c.script}}
		if d := p.load(c.permissions).Decide(t.Context(), p.env, req); d.Verdict.String() != c.want {
			t.Errorf("%s, %s: %v (%s), want %s", c.permissions, c.script, d.Verdict, d.Reason, c.want)
		} else if c.permissions == `{}` && (d.Script || d.Reads || !d.Default ||
			!slices.Equal(d.Suggest, []string{"run"})) {
			t.Errorf("%s: %+v", c.script, d)
		}
	}
}

// A program's own tool that only reads needs no rule for a command that only reads.
func TestL1_OwnToolThatReads(t *testing.T) {
	p := newProject(t, "a")
	for _, c := range []struct{ permissions, script, want string }{
		{`{}`, "cat a", "allow"},
		{`{}`, "touch b", "ask"},
		{`{"deny": ["Bash(cat:*)"]}`, "cat a", "deny"},
	} {
		req := tool.Request{Dir: p.dir, Call: llm.ToolCall{ID: "1", Name: "run", Args: "{}"},
			Access: tool.Access{Effect: tool.ReadOnly, Command: c.script}}
		d := p.load(c.permissions).Decide(t.Context(), p.env, req)
		if d.Verdict.String() != c.want || d.Reads != (c.script == "cat a" && c.want == "allow") && c.want != "deny" {
			t.Errorf("%s, %s: %+v, want %s", c.permissions, c.script, d, c.want)
		}
	}
}

// The name of a remote server's tool decides about its calls, not the server's host. A rule that
// denies the host counts all the same.
func TestM12_ToolsOfRemoteServers(t *testing.T) {
	p := newProject(t)
	req := tool.Request{Dir: p.dir, Call: llm.ToolCall{ID: "1", Name: "mcp__work__find", Args: "{}"},
		Access: tool.Access{Effect: tool.Exclusive, Hosts: []string{"mcp.example.com"}}}
	for permissions, want := range map[string]tool.Verdict{
		`{}`:                             tool.Ask,
		`{"allow": ["mcp__work__find"]}`: tool.Allow,
		`{"allow": ["mcp__work"]}`:       tool.Allow,
		`{"allow": ["mcp__other", "WebFetch(domain:mcp.example.com)"]}`:          tool.Ask,
		`{"allow": ["mcp__work"], "deny": ["WebFetch(domain:mcp.example.com)"]}`: tool.Deny,
		`{"allow": ["mcp__work"], "ask": ["mcp__work__find"]}`:                   tool.Ask,
	} {
		d := p.load(permissions).Decide(t.Context(), p.env, req)
		if d.Verdict != want {
			t.Errorf("%s: %v (%s), want %v", permissions, d.Verdict, d.Reason, want)
		}
		if permissions == "{}" && !slices.Equal(d.Suggest, []string{"mcp__work__find"}) {
			t.Errorf("it suggests %q", d.Suggest)
		}
	}
}

// The rules for a server also decide about its resources, which one tool reads for all servers.
func TestM12_ResourcesOfServers(t *testing.T) {
	p := newProject(t)
	for permissions, want := range map[string]tool.Verdict{
		`{}`:                       tool.Ask,
		`{"deny": ["mcp__work"]}`:  tool.Deny,
		`{"deny": ["mcp__other"]}`: tool.Ask,
		`{"deny": ["mcp__work__*"], "allow": ["mcp_read"]}`:  tool.Deny,
		`{"deny": ["mcp_read", "mcp_resources"]}`:            tool.Deny,
		`{"allow": ["mcp__work"]}`:                           tool.Allow,
		`{"allow": ["mcp__other__mcp_read"]}`:                tool.Ask,
		`{"allow": ["mcp_read", "mcp_resources"]}`:           tool.Allow,
		`{"allow": ["mcp__work"], "ask": ["mcp__*__mcp_*"]}`: tool.Ask,
	} {
		for _, name := range []string{"mcp_read", "mcp_resources"} {
			req := tool.Request{Dir: p.dir, Call: llm.ToolCall{ID: "1", Name: name,
				Args: `{"server":"work","uri":"x://y"}`},
				Access: tool.Access{Effect: tool.Exclusive, About: "work"}}
			if d := p.load(permissions).Decide(t.Context(), p.env, req); d.Verdict != want || permissions == "{}" &&
				!slices.Equal(d.Suggest, []string{"mcp__work__" + name}) {
				t.Errorf("%s, %s: %v (%s, %q), want %v", permissions, name, d.Verdict, d.Reason, d.Suggest, want)
			}
		}
	}
}

// Tools say what rules have to know of their arguments: rules read no tool's arguments themselves.
func TestT4_AccessSaysWhatRulesNeed(t *testing.T) {
	p := newProject(t, "d/x", "outside.txt")
	set := p.load(`{"allow": ["Bash(cat:*)", "Bash(go test:*)"], "deny": ["Agent(reviewer)"]}`)
	for _, c := range []struct {
		profile profile.Profile
		name    string
		args    map[string]any
		want    tool.Verdict
	}{
		{openai.Native(), "exec_command", map[string]any{"cmd": "go test"}, tool.Allow},
		{openai.Native(), "exec_command", map[string]any{"cmd": "go test", "shell": "zsh"}, tool.Ask},
		{openai.Native(), "exec_command", map[string]any{"cmd": "go test", "login": true}, tool.Ask},
		{openai.Native(), "exec_command", map[string]any{"cmd": "go test", "tty": true}, tool.Ask},
		{openai.Native(), "exec_command", map[string]any{"cmd": "go test", "sandbox_permissions": "require_escalated"},
			tool.Ask},
		{openai.Native(), "exec_command", map[string]any{"cmd": "cat ../outside.txt", "workdir": "d"}, tool.Allow},
		{openai.Native(), "exec_command", map[string]any{"cmd": "ls ../outside.txt", "workdir": "d"}, tool.Allow},
		{openai.Native(), "exec_command", map[string]any{"cmd": "ls ../outside.txt"}, tool.Ask},
		{gemini.Native(), "run_shell_command", map[string]any{"command": "ls ../outside.txt", "dir_path": "d"},
			tool.Allow},
		{gemini.Native(), "run_shell_command", map[string]any{"command": "ls ../outside.txt", "dir_path": "d",
			"is_background": true}, tool.Allow},
		{gemini.Native(), "run_shell_command", map[string]any{"command": "ls ../outside.txt"}, tool.Ask},
		{openai.Native(), "exec_command", map[string]any{"cmd": "apply_patch <<'EOF'\n" + addPatch + "\nEOF",
			"login": true}, tool.Ask},
		{anthropic.Native(), "Bash", map[string]any{"command": "go test"}, tool.Allow},
		{anthropic.Native(), "Bash", map[string]any{"command": "go test", "dangerouslyDisableSandbox": true}, tool.Ask},
		{openai.Native(), "write_stdin", map[string]any{"session_id": 1, "chars": "\x03"}, tool.Allow},
		{openai.Native(), "write_stdin", map[string]any{"session_id": 1, "chars": "\x03x"}, tool.Ask},
		{anthropic.Profile(), "process", map[string]any{"id": "1", "action": "kill"}, tool.Allow},
		{anthropic.Profile(), "process", map[string]any{"id": "1", "action": "end_input"}, tool.Ask},
		{gemini.Native(), "invoke_agent", map[string]any{"agent_name": "reviewer", "prompt": "x"}, tool.Deny},
		{anthropic.Native(), "Agent", map[string]any{"description": "x", "prompt": "x", "subagent_type": "reviewer"},
			tool.Deny},
		{anthropic.Profile(), "spawn_agent", map[string]any{"task": "x", "agent": "reviewer"}, tool.Deny},
	} {
		registry, err := tool.NewRegistry(c.profile.Tools...)
		if err != nil {
			t.Fatal(err)
		}
		if c.name == "spawn_agent" {
			tools := slices.Clone(c.profile.Tools)
			i := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Name == c.name })
			tools[i].ToolDefinition = tools[i].ForAgents([]tool.AgentKind{{Name: "reviewer"}})
			if registry, err = tool.NewRegistry(tools...); err != nil {
				t.Fatal(err)
			}
		}
		req := p.requestOf(p.env, registry, c.name, c.args)
		if d := set.Decide(t.Context(), p.env, req); d.Verdict != c.want {
			t.Errorf("%s %v: %s (%s), want %s", c.name, c.args, d.Verdict, d.Reason, c.want)
		}
	}
}

// A tool of a host's that runs commands and does not say which asks.
func TestT4_CommandThatIsNotSaid(t *testing.T) {
	p := newProject(t)
	for _, name := range []string{"shell", "Bash", "exec_command", "run_shell_command"} {
		req := tool.Request{Dir: p.dir, Call: llm.ToolCall{ID: "1", Name: name, Args: "rm -r ."}}
		if d := p.load(`{"allow": ["Bash(ls:*)"]}`).Decide(t.Context(), p.env, req); d.Verdict != tool.Ask || d.Reads {
			t.Errorf("%s: %+v", name, d)
		}
	}
}
