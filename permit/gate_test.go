package permit_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// counter counts questions and keeps the last one.
type counter struct {
	questions []permit.Question
	answer    permit.Answer
}

func (c *counter) ask(_ context.Context, q permit.Question) (permit.Answer, error) {
	c.questions = append(c.questions, q)
	return c.answer, nil
}

// gated holds a gate in front of the real tools, in a real directory.
type gated struct {
	*testing.T
	*permit.Gate
	*counter
	dir      string
	registry *tool.Registry
}

// newGate returns a gate with the rules of a file.
func newGate(t *testing.T, settings string) *gated { return newGateIn(t, t.TempDir(), settings) }

// newGateIn is newGate in a directory.
func newGateIn(t *testing.T, dir, settings string) *gated {
	t.Helper()
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	set, err := rules.Load(rules.Dirs{Work: local.WorkDir(), Resolve: rules.RealPath},
		rules.Source{Name: "rules.json", Data: []byte(settings)})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tool.NewRegistry(coding.Shell(env.DefaultTimeout), coding.WriteFile(), coding.ReadFile())
	if err != nil {
		t.Fatal(err)
	}
	g := &gated{T: t, Gate: permit.NewGate(permit.ModeAsk, set, env.Protect(local, env.DefaultProtection())),
		counter: &counter{answer: permit.Answer{Verdict: tool.Allow}}, dir: dir, registry: registry}
	g.Gate.Ask = g.counter.ask
	return g
}

// shell runs a command through the gate, as a session does, and returns the model's result.
func (g *gated) shell(command string) string {
	return g.call("shell", map[string]any{"command": command})
}

func (g *gated) call(name string, args map[string]any) string {
	g.Helper()
	return g.callWith(name, args, g.Authorize)
}

// callWith is call in a session with another hook.
func (g *gated) callWith(name string, args map[string]any, authorize tool.Authorize) string {
	g.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		g.Fatal(err)
	}
	c := tool.Call{Env: g.Env, SessionID: "s", Session: new(tool.Plain)}
	p, asks := g.registry.Authorize(g.Context(),
		g.registry.Prepare(llm.ToolCall{ID: "1", Name: name, Args: string(data)}), c, authorize)
	if asks {
		p, _ = g.registry.Authorize(g.Context(), p, c, g.Approve)
	}
	return p.Run(g.Context(), c, []tool.Middleware{g.Middleware}, nil).Model.Text()
}

const someRules = `{"permissions": {"allow": ["Bash(echo yes)"], "ask": [{"rule": "Bash(echo ask:*)", "reason": "ask first"}], "deny": [{"rule": "Bash(echo no:*)", "reason": "say yes"}]}}`

// says returns a hook that always says the same.
func says(s permit.Stance) permit.Hook {
	return func(context.Context, tool.Request) (permit.Opinion, error) {
		return permit.Opinion{Says: s, Reason: "the hook"}, nil
	}
}

// A person is asked about what another hook of the session asks about, also where the rules allow
// it: a host's policy beside the gate counts.
func TestL1_AHookBesideTheGateAsks(t *testing.T) {
	asks := func(context.Context, tool.Request) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Ask}, nil
	}
	for command, want := range map[string]string{"echo yes": "yes", "cat file": "text", "echo no": "say yes"} {
		for _, verdict := range []tool.Verdict{tool.Allow, tool.Deny} {
			g := newGate(t, someRules)
			if err := os.WriteFile(filepath.Join(g.dir, "file"), []byte("text"), 0o600); err != nil {
				t.Fatal(err)
			}
			g.answer = permit.Answer{Verdict: verdict, Reason: "not now"}
			questions := 1
			if command == "echo no" { // which a rule denies
				questions = 0
			} else if verdict == tool.Deny {
				want = "not now"
			}
			result := g.callWith("shell", map[string]any{"command": command}, tool.AuthorizeAll(asks, g.Authorize))
			if len(g.questions) != questions || !strings.Contains(result, want) {
				t.Errorf("%s, %v: %d questions, result: %s", command, verdict, len(g.questions), result)
			}
		}
	}
}

// Neither --yes nor a hook allows a search of a directory with a file that a rule denies. A person
// may.
func TestL1_DeniedFilesInTrees(t *testing.T) {
	for name, c := range map[string]struct {
		mode permit.Mode
		list string
		runs bool
		asks int
	}{
		"yes to all":              {permit.ModeFull, "deny", false, 0},
		"yes to all, a rule asks": {permit.ModeFull, "ask", true, 0},
		"a hook allows":           {permit.ModeAsk, "deny", true, 1},
		"a hook allows, asked":    {permit.ModeAsk, "ask", true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, `{"permissions": {"`+c.list+`": ["Read(key)"]}}`)
			g.SetMode(c.mode)
			g.BeforeRules = []permit.Hook{says(permit.Allows)}
			if err := os.WriteFile(filepath.Join(g.dir, "key"), []byte("hidden text"), 0o600); err != nil {
				t.Fatal(err)
			}
			if result := g.shell("grep -rn hid ."); strings.Contains(result, "hidden text") != c.runs ||
				len(g.questions) != c.asks {
				t.Errorf("%d questions, result: %s", len(g.questions), result)
			}
		})
	}
}

// A rule that denies changes of files counts with --yes for what known programs change, also in
// directories.
func TestL1_DeniedChanges(t *testing.T) {
	for script, runs := range map[string]bool{"cp a prod/y": false, "echo x > prod/y": false,
		"echo x | tee prod/y": false, "mv a prod/y": false, "mv prod old": false,
		"rm -rf ./*": false, "rm -r .": false, "git diff --no-index --output=prod/y a b": false,
		"sort -o prod/y a": false, "cp a b": true, "sort -o b a; rm a": true} {
		g := newGate(t, `{"permissions": {"allow": ["Bash(git diff:*)"], "deny": ["Edit(prod/**)"]}}`)
		g.SetMode(permit.ModeFull)
		for name, text := range map[string]string{"a": "new", "prod/y": "old"} {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(g.dir, name)), 0o755),
				os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		result := g.shell(script)
		if data, err := os.ReadFile(filepath.Join(g.dir, "prod/y")); err != nil || string(data) != "old" {
			t.Errorf("%s changed the file: %q, %v", script, data, err)
		}
		if data, err := os.ReadFile(filepath.Join(g.dir, "b")); (strings.TrimSpace(string(data)) == "new") != runs {
			t.Errorf("%s: %q, %v; %s", script, data, err, result)
		}
	}
}

// Hooks, rules and the question decide in this order. What a hook allows skips the question of the
// built-in rules, but no rule. A rule that denies counts in all modes.
func TestL11_Order(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode            permit.Mode
		before, request permit.Stance
		nobody          bool
		// what becomes of a command that a rule allows, that no rule is about, that a rule asks
		// about and that one denies: r runs, a asks and runs, d is denied
		want string
	}{
		"rules":                   {want: "raad"},
		"hook allows":             {before: permit.Allows, want: "rrad"},
		"hook asks":               {before: permit.Asks, want: "aaad"},
		"hook denies":             {before: permit.Denies, want: "dddd"},
		"request hook allows":     {request: permit.Allows, want: "rrad"},
		"request hook denies":     {request: permit.Denies, want: "rddd"},
		"request hook asks":       {request: permit.Asks, want: "raad"},
		"asks, but then allows":   {before: permit.Asks, request: permit.Allows, want: "aaad"},
		"allows, but then denies": {before: permit.Allows, request: permit.Denies, want: "rrdd"},
		"nobody to ask":           {nobody: true, want: "rddd"},
		"only hooks to ask":       {nobody: true, request: permit.Allows, want: "rrdd"},
		"yes to all":              {mode: permit.ModeFull, want: "rrrd"},
		"yes to all, hook asks":   {mode: permit.ModeFull, before: permit.Asks, want: "rrrd"},
		"yes to all, hook denies": {mode: permit.ModeFull, before: permit.Denies, want: "dddd"},
		"read only":               {mode: permit.ModeReadOnly, want: "dddd"},
		"plan":                    {mode: permit.ModePlan, want: "rdad"},
		"plan, hook allows":       {mode: permit.ModePlan, before: permit.Allows, want: "rdad"},
		"plan, request allows":    {mode: permit.ModePlan, request: permit.Allows, want: "rdad"},
		"plan, hook asks":         {mode: permit.ModePlan, before: permit.Asks, want: "adad"},
		"plan, nobody":            {mode: permit.ModePlan, nobody: true, want: "rddd"},
		"edits":                   {mode: permit.ModeAcceptEdits, want: "raad"},
		"edits, hook allows":      {mode: permit.ModeAcceptEdits, before: permit.Allows, want: "rrad"},
		"edits, nobody":           {mode: permit.ModeAcceptEdits, nobody: true, want: "rddd"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, someRules)
			g.SetMode(c.mode)
			if c.before != permit.NoOpinion {
				g.BeforeRules = []permit.Hook{says(permit.NoOpinion), says(c.before)}
			}
			if c.request != permit.NoOpinion {
				g.BeforeQuestion = []permit.Hook{says(c.request)}
			}
			if c.nobody {
				g.Gate.Ask = nil
			}
			got := ""
			for _, command := range []string{"echo yes", "mkdir d; echo made", "echo ask me", "echo no more"} {
				asked := len(g.questions)
				result := g.shell(command)
				switch {
				case strings.Contains(result, "not permitted"):
					got += "d"
				case len(g.questions) > asked:
					got += "a"
				default:
					got += "r"
				}
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// The model and the person learn which rule decided.
func TestL11_RulesAreNamed(t *testing.T) {
	g := newGate(t, someRules)
	if result := g.shell("echo no more"); !strings.Contains(result, "say yes") ||
		!strings.Contains(result, "Bash(echo no:*)") {
		t.Errorf("the model is told %q", result)
	}
	g.shell("echo ask me")
	if q := g.questions[0]; !strings.Contains(q.Rule, "Bash(echo ask:*) (rules.json:1)") ||
		!strings.Contains(q.Reason, "ask first") {
		t.Errorf("the question is %+v", q)
	}
	g.Gate.Ask = nil
	if result := g.shell("echo ask me"); !strings.Contains(result, "ask first") ||
		!strings.Contains(result, "nobody is there") {
		t.Errorf("the model is told %q", result)
	}
}

// Arguments that a hook or a person changes are validated and judged again.
func TestL11_ChangedArguments(t *testing.T) {
	change := func(command string) permit.Hook {
		return func(context.Context, tool.Request) (permit.Opinion, error) {
			return permit.Opinion{Says: permit.Allows, Args: `{"command":"` + command + `"}`}, nil
		}
	}
	for name, c := range map[string]struct {
		before, request permit.Hook
		args            []string // of the person's answers
		want            string
		questions       int
	}{
		"hook, to one that is denied":      {before: change("echo no"), want: "say yes"},
		"hook, to one that is asked about": {before: change("echo ask"), want: "ask\n", questions: 1},
		"hook, to an invalid one": {before: func(context.Context, tool.Request) (permit.Opinion, error) {
			return permit.Opinion{Args: `{"commando":1}`}, nil
		}, want: "a hook changed the arguments"},
		"request hook, to one that is denied": {request: change("echo no"), want: "say yes"},
		"request hook, to a harmless one":     {request: change("mkdir e; echo harmless"), want: "harmless"},
		"person, to one that is denied":       {args: []string{"echo no"}, want: "say yes", questions: 1},
		"person, to an allowed one":           {args: []string{"echo yes"}, want: "yes\n", questions: 1},
		"person, twice": {args: []string{"mkdir e; echo once", "mkdir e; echo twice", "mkdir e; echo twice"},
			want: "twice", questions: 3},
		"person, without end": {args: []string{"mkdir 1", "mkdir 2", "mkdir 3", "mkdir 4", "mkdir 5",
			"mkdir 6", "mkdir 7", "mkdir 8", "mkdir 9", "mkdir 10"}, want: "changed 8 times", questions: 8},
		"failing hook": {before: func(context.Context, tool.Request) (permit.Opinion, error) {
			return permit.Opinion{}, errors.New("broken")
		}, want: "broken"},
		"hook, and the person sees what it made": {before: change("mkdir f; echo hook"),
			args: []string{"mkdir f; echo hook"}, want: "hook\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, someRules)
			if c.before != nil {
				g.BeforeRules = []permit.Hook{c.before}
			}
			if c.request != nil {
				g.BeforeQuestion = []permit.Hook{c.request}
			}
			asked := 0
			g.Gate.Ask = func(_ context.Context, q permit.Question) (permit.Answer, error) {
				asked++
				answer := permit.Answer{Verdict: tool.Allow}
				if asked <= len(c.args) {
					args, err := json.Marshal(map[string]string{"command": c.args[asked-1]})
					if err != nil {
						t.Error(err)
					}
					answer.Args = string(args)
				}
				return answer, nil
			}
			if result := g.shell("mkdir d; echo first"); !strings.Contains(result, c.want) || asked != c.questions {
				t.Errorf("asked %d times, want %d; the result is %q, want %q", asked, c.questions, result, c.want)
			}
		})
	}
}

// An invalid edit of a person is asked about again, with the problem.
func TestL11_InvalidEditIsAskedAgain(t *testing.T) {
	g := newGate(t, someRules)
	var problems []string
	g.Gate.Ask = func(_ context.Context, q permit.Question) (permit.Answer, error) {
		problems = append(problems, q.Problem)
		if len(problems) == 1 {
			return permit.Answer{Verdict: tool.Allow, Args: `{"commando":1}`}, nil
		}
		return permit.Answer{Verdict: tool.Allow}, nil
	}
	if result := g.shell("mkdir d; echo done"); len(problems) != 2 || problems[0] != "" ||
		!strings.Contains(problems[1], "invalid arguments") || !strings.Contains(result, "done") {
		t.Errorf("problems %q, result %q", problems, result)
	}
}

// A remembered answer answers later questions, but not those about guarded files. A question that
// waits for its turn is not asked if the answer before it has allowed the call.
func TestL3_RememberedAnswers(t *testing.T) {
	g := newGate(t, `{"permissions": {}}`)
	g.answer.Remember = true
	for range 2 {
		g.shell("touch a")
		g.call("write_file", map[string]any{"file_path": "b", "content": "x"})
	}
	if len(g.questions) != 2 {
		t.Errorf("asked %d times, want twice", len(g.questions))
	}
	for range 2 {
		g.call("write_file", map[string]any{"file_path": ".mcp.json", "content": "{}"})
	}
	if n := len(g.questions); n != 4 || g.questions[3].Allow != nil || len(g.questions[3].Access.Guarded) != 1 {
		t.Errorf("asked %d times, want four times; the last question is %+v", n, g.questions[n-1])
	}
	g.BeforeRules = []permit.Hook{says(permit.Allows)}
	if g.call("write_file", map[string]any{"file_path": ".mcp.json", "content": "{}"}); len(g.questions) != 5 {
		t.Error("a hook has answered the question about a guarded file")
	}
	if _, err := os.Stat(filepath.Join(g.dir, ".mcp.json")); err != nil {
		t.Error(err)
	}
}

// Only a person can allow a command to run outside the sandbox.
func TestL5_OutsideTheSandbox(t *testing.T) {
	g := newGate(t, `{"permissions": {"allow": ["Bash"]}}`)
	call := &tool.Call{ID: "1", Name: "shell", Args: `{"command":"touch /etc/x"}`,
		Access: tool.Access{Command: "touch /etc/x"}, Env: g.Env, AgentID: "agent-1"}
	refused := []string{"writing /etc/x"}
	if ok, err := g.Outside(t.Context(), call, refused); !ok || err != nil {
		t.Errorf("yes: %v, %v", ok, err)
	}
	if q := g.questions[0]; q.Access.Command != "touch /etc/x" || q.AgentID != "agent-1" ||
		!slices.Equal(q.Refused, refused) || q.Allow != nil {
		t.Errorf("the question is %+v", q)
	}
	g.answer = permit.Answer{Reason: "no"}
	if ok, err := g.Outside(t.Context(), call, refused); ok || err != nil {
		t.Errorf("no: %v, %v", ok, err)
	}
	g.answer = permit.Answer{Verdict: tool.Allow}
	g.BeforeRules, g.BeforeQuestion = []permit.Hook{says(permit.Allows)}, []permit.Hook{says(permit.Allows)}
	for _, mode := range []permit.Mode{permit.ModeFull, permit.ModeReadOnly, permit.ModePlan} {
		g.SetMode(mode)
		if ok, err := g.Outside(t.Context(), call, refused); ok || err != nil {
			t.Errorf("mode %s: %v, %v", mode, ok, err)
		}
	}
	g.SetMode(permit.ModeAsk)
	ask := g.Gate.Ask
	g.Gate.Ask = func(ctx context.Context, q permit.Question) (permit.Answer, error) {
		g.SetMode(permit.ModePlan)
		return ask(ctx, q)
	}
	if ok, err := g.Outside(t.Context(), call, refused); ok || err != nil {
		t.Errorf("plan mode since the question: %v, %v", ok, err)
	}
	g.SetMode(permit.ModeAsk)
	g.Gate.Ask = nil
	if ok, err := g.Outside(t.Context(), call, refused); ok || err != nil || len(g.questions) != 3 {
		t.Errorf("nobody: %v, %v, %d questions", ok, err, len(g.questions))
	}
}

// counting counts the decisions of rules.
type counting struct {
	permit.Rules
	decided int
}

func (c *counting) Decide(ctx context.Context, e env.Environment, req tool.Request) rules.Decision {
	c.decided++
	return c.Rules.Decide(ctx, e, req)
}

// The rules decide once about a call, and again only if its arguments, the rules or the places that
// it would touch have changed.
func TestT3_RulesDecideOnce(t *testing.T) {
	write := map[string]any{"file_path": "link", "content": "x"}
	for name, c := range map[string]struct {
		meanwhile func(g *gated) // between Authorize and Approve
		answer    permit.Answer
		want      int
	}{
		"nothing":   {func(*gated) {}, permit.Answer{Verdict: tool.Allow}, 1},
		"a refusal": {func(*gated) {}, permit.Answer{Reason: "no"}, 1},
		"other rules": {func(g *gated) { g.shell("touch other") }, permit.Answer{Verdict: tool.Allow,
			Remember: true}, 4}, // two of them about the command
		"another target": {func(g *gated) { g.link("b", "link") }, permit.Answer{Verdict: tool.Allow}, 2},
		"a mode":         {func(g *gated) { g.SetMode(permit.ModePlan) }, permit.Answer{Verdict: tool.Allow}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, `{"permissions":{}}`)
			g.link("a", "link")
			counted := &counting{Rules: g.Rules}
			g.Rules, g.answer = counted, c.answer
			data, err := json.Marshal(write)
			if err != nil {
				t.Fatal(err)
			}
			call := tool.Call{Env: g.Env, SessionID: "s", Session: new(tool.Plain)}
			p, asks := g.registry.Authorize(t.Context(),
				g.registry.Prepare(llm.ToolCall{ID: "2", Name: "write_file", Args: string(data)}), call, g.Authorize)
			if !asks {
				t.Fatal("nobody is asked")
			}
			c.meanwhile(g)
			g.registry.Authorize(t.Context(), p, call, g.Approve)
			if counted.decided != c.want {
				t.Errorf("the rules decided %d times, want %d", counted.decided, c.want)
			}
		})
	}
}

// What a command does depends on more than its paths, so it is judged again right before a
// question: a call of the same answer may have changed what it leads to.
func TestT3_CommandsAreJudgedAgain(t *testing.T) {
	g := newGate(t, `{"permissions":{"deny":["Edit(prod/**)"]}}`)
	g.write("a", "x", "prod/y", "x", "other/y", "x")
	g.link("other", "x")
	call := tool.Call{Env: g.Env, SessionID: "s", Session: new(tool.Plain)}
	p, asks := g.registry.Authorize(t.Context(),
		g.registry.Prepare(llm.ToolCall{ID: "1", Name: "shell", Args: `{"command":"cp a x/y"}`}), call, g.Authorize)
	if !asks {
		t.Fatal("nobody is asked")
	}
	g.link("prod", "x")
	p, _ = g.registry.Authorize(t.Context(), p, call, g.Approve)
	if p.Outcome == nil || !strings.Contains(p.Outcome.Model.Text(), "Edit(prod/**)") || len(g.questions) > 0 {
		t.Errorf("%d questions, %+v", len(g.questions), p.Outcome)
	}
}

// A call does not run without what the gate had decided about it, or with what another gate had.
func TestT3_ForeignValues(t *testing.T) {
	g, other := newGate(t, `{"permissions":{}}`), newGate(t, `{"permissions":{"allow":["Bash"]}}`)
	replace := func(value any) tool.Authorize {
		return func(context.Context, tool.Request) (tool.Decision, error) {
			return tool.Decision{Verdict: tool.Allow, Value: value}, nil
		}
	}
	for name, hook := range map[string]tool.Authorize{
		"another hook": tool.AuthorizeAll(g.Authorize, replace("mine")),
		"another gate": tool.AuthorizeAll(g.Authorize, other.Authorize),
	} {
		call := tool.Call{Env: g.Env, SessionID: "s", Session: new(tool.Plain)}
		p, _ := g.registry.Authorize(t.Context(),
			g.registry.Prepare(llm.ToolCall{ID: "1", Name: "shell", Args: `{"command":"touch made"}`}), call, hook)
		p, asks := g.registry.Authorize(t.Context(), p, call, g.Approve)
		if len(g.questions) == 0 || asks {
			t.Errorf("%s: nobody was asked", name)
		}
		p.Run(t.Context(), call, []tool.Middleware{g.Middleware}, nil)
		p, _ = g.registry.Authorize(t.Context(),
			g.registry.Prepare(llm.ToolCall{ID: "2", Name: "shell", Args: `{"command":"touch lost"}`}), call,
			replace(name))
		if text := p.Run(t.Context(), call, []tool.Middleware{g.Middleware}, nil).Model.Text(); !strings.Contains(text,
			"another hook of this program") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if _, err := os.Stat(filepath.Join(g.dir, "lost")); err == nil {
		t.Error("a call has run without its approval")
	}
}

// The tool that leaves plan mode claims no approval that no person has given.
func TestT3_NoPlanWithoutAPerson(t *testing.T) {
	g := newGate(t, `{"permissions":{}}`)
	approved := func(context.Context, *tool.Call, permit.Plan) (tool.Result, error) {
		t.Error("the plan is said to be approved")
		return tool.Result{}, nil
	}
	var err error
	if g.registry, err = tool.NewRegistry(permit.ExitPlan(approved)); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []permit.Mode{permit.ModeAsk, permit.ModeFull, permit.ModePlan} { // without LeavePlan
		g.SetMode(mode)
		if text := g.call(permit.ExitPlanMode, map[string]any{"plan": "p"}); !strings.Contains(text,
			"not in plan mode") {
			t.Errorf("%s: %s", mode, text)
		}
	}
}

// What hooks say about a call goes with it, whichever of them the gate follows.
func TestT3_ValuesOfHooks(t *testing.T) {
	g := newGate(t, `{"permissions":{}}`)
	hook := func(value any, says permit.Stance) permit.Hook {
		return func(context.Context, tool.Request) (permit.Opinion, error) {
			return permit.Opinion{Says: says, Value: value}, nil
		}
	}
	g.BeforeRules = []permit.Hook{hook("first", permit.NoOpinion), hook(nil, permit.NoOpinion), hook(2, permit.Asks)}
	g.BeforeQuestion = []permit.Hook{hook("third", permit.NoOpinion)}
	var got []any
	call := tool.Call{Env: g.Env, SessionID: "s", Session: new(tool.Plain)}
	p, asks := g.registry.Authorize(t.Context(),
		g.registry.Prepare(llm.ToolCall{ID: "1", Name: "shell", Args: `{"command":"echo"}`}), call, g.Authorize)
	if !asks {
		t.Fatal("nobody is asked")
	}
	p, _ = g.registry.Authorize(t.Context(), p, call, g.Approve)
	look := func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			got = permit.Values(call)
			return next(ctx, call)
		}
	}
	p.Run(t.Context(), call, []tool.Middleware{look, g.Middleware}, nil)
	if !slices.Equal(got, []any{"first", 2, "third"}) {
		t.Errorf("middleware gets %v", got)
	}
}

// A gate within another one has its mode, its person and its hooks, and rules and an environment of
// its own. What a person lets one of them do always, the others may do, before and later. What is
// about the directory of the inner one counts there only.
func TestO8_GatesWithin(t *testing.T) {
	g, inner := newGate(t, `{"permissions": {}}`), newGate(t, `{"permissions": {"deny": ["Bash(echo no:*)"]}}`)
	g.answer.Remember = true
	g.shell("touch a")
	inner.Gate = g.Within(inner.Rules, inner.Env)
	write := func(g *gated) { g.call("write_file", map[string]any{"file_path": "b", "content": "x"}) }
	want := func(what string, asked int) {
		t.Helper()
		if len(g.questions) != asked {
			t.Fatalf("%s: %d questions, want %d", what, len(g.questions), asked)
		}
	}
	inner.shell("touch a")
	want("what was allowed before", 1)
	inner.shell("mkdir b")
	g.shell("mkdir c")
	want("what was allowed within", 2)
	if dir := g.questions[1].CommandDir; dir != inner.dir {
		t.Errorf("the question is about the directory %q", dir)
	}
	write(inner)
	write(inner)
	want("changes within, once", 3)
	write(g)
	want("the same outside", 4)
	if result := inner.shell("echo no"); !strings.Contains(result, "a rule denies it") {
		t.Errorf("a denied command: %s", result)
	}
	g.SetMode(permit.ModePlan)
	if result := inner.shell("touch d"); !strings.Contains(result, "plan mode") {
		t.Errorf("in plan mode: %s", result)
	}
}

// A person's own command that may do what a rule denies does not run, whatever the mode and a hook.
func TestX9_TypedMayDoWhatIsDenied(t *testing.T) {
	for _, mode := range []permit.Mode{permit.ModeAsk, permit.ModeAcceptEdits, permit.ModePlan, permit.ModeFull} {
		g := newGate(t, `{"permissions": {"deny": ["Read(./private.txt)", "Bash(rm:*)"], "ask": ["Bash(echo ask)"]}}`)
		g.SetMode(mode)
		g.BeforeRules = []permit.Hook{says(permit.Asks)}
		if err := os.WriteFile(filepath.Join(g.dir, "private.txt"), []byte("denied"), 0o600); err != nil {
			t.Fatal(err)
		}
		for command, want := range map[string]string{"grep -r denied .": "rule Read(./private.txt)",
			`x="rm victim"; eval "$x"`: "rule denies", "rm victim": "rule denies", "echo made >new": "",
			"echo ask": ""} {
			d, err := g.Typed(t.Context(),
				tool.Request{Dir: g.dir, Call: llm.ToolCall{ID: "1", Name: "shell", Args: "{}"},
					Access: tool.Access{Effect: tool.Writes, Command: command}})
			if err != nil || (d.Verdict == tool.Allow) != (want == "") || !strings.Contains(d.Reason, want) {
				t.Errorf("%s, %s: %+v, %v", mode, command, d, err)
			}
		}
	}
}
