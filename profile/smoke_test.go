package profile_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// smokeTime is the time limit of one task.
const smokeTime = time.Minute

// TestSmoke_Anthropic, TestSmoke_OpenAI and TestSmoke_Gemini are for users with keys: the tasks of
// the smoke matrix with real models, each provider whose key is in the environment. They cost a few
// cents.
//
//	ANTHROPIC_API_KEY=... OPENAI_API_KEY=... GEMINI_API_KEY=... go test -v -run TestSmoke ./profile ./llm/providers
//
// ATTRACTOR_SMOKE_MODEL_<PROVIDER> names another model than the profile's.
func TestSmoke_Anthropic(t *testing.T) { smokeReal(t, "anthropic") }

func TestSmoke_OpenAI(t *testing.T) { smokeReal(t, "openai") }

func TestSmoke_Gemini(t *testing.T) { smokeReal(t, "gemini") }

// TestSmoke_Scripted runs the same tasks with a scripted model behind HTTP, without keys.
func TestSmoke_Scripted(t *testing.T) {
	for _, name := range []string{"anthropic", "openai", "gemini"} {
		for _, row := range smokeTasks() {
			t.Run(row.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newSmoke(t, name)
				server := fakellm.New(row.script(s.moves), fakellm.Options{})
				web := httptest.NewServer(server)
				t.Cleanup(web.Close)
				config := providers.Config{APIKey: "test", BaseURL: web.URL}
				if name == "openai" {
					config.BaseURL += "/v1"
				}
				s.start(config, "", time.Second)
				row.play(s)
			})
		}
	}
}

func smokeReal(t *testing.T, name string) {
	kind, err := providers.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	config, _ := kind.Config(os.Getenv)
	if config.APIKey == "" {
		t.Skipf("no key: set %s to run this with a real model", strings.Join(kind.KeyVars, " or "))
	}
	for _, row := range smokeTasks() {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newSmoke(t, name)
			s.start(config, os.Getenv("ATTRACTOR_SMOKE_MODEL_"+strings.ToUpper(name)), env.DefaultTimeout)
			row.play(s)
		})
	}
}

// smokeTask holds what a model is asked to do, and the check of files and events afterwards.
type smokeTask struct {
	name string
	play func(s *smoke)
	// script returns a scripted model that does it.
	script func(m moves) fakellm.Model
}

func smokeTasks() []smokeTask {
	return []smokeTask{
		{"create a file", smokeCreate, func(m moves) fakellm.Model {
			return answers(m.create("hello.txt", "Hello.\n"))
		}},
		{"read and edit", smokeEdit, func(m moves) fakellm.Model {
			return answers(m.read("list.txt"), m.edit("list.txt", "two", "three"))
		}},
		{"run a command", smokeRun, func(m moves) fakellm.Model { return answers(m.run("sh make.sh")) }},
		{"truncation", smokeTruncation, func(m moves) fakellm.Model {
			return answers(m.run("seq 1 20000"), m.create("last.txt", "20000\n"))
		}},
		{"steering", smokeSteering, func(m moves) fakellm.Model {
			return obeys(func(task string) []fakellm.Call {
				if strings.Contains(task, "steered.txt") {
					return calls(m.create("steered.txt", "yes\n"))
				}
				return calls(m.create("first.txt", "one\n"))
			})
		}},
		{"follow-up", smokeFollowUp, func(m moves) fakellm.Model {
			return obeys(func(task string) []fakellm.Call {
				if strings.Contains(task, "second.txt") {
					return calls(m.create("second.txt", "two\n"))
				}
				return calls(m.create("first.txt", "one\n"))
			})
		}},
		{"subagent", smokeSubagent, scriptSubagent},
		{"timeout", smokeTimeout, func(m moves) fakellm.Model { return answers(m.run("sleep 30")) }},
	}
}

// answers returns a model that makes one call per response, and then gives a final answer.
func answers(list ...fakellm.Call) fakellm.Model {
	var turns []fakellm.Turn
	for _, call := range list {
		turns = append(turns, fakellm.Turn{Calls: calls(call)})
	}
	return fakellm.Script(append(turns, fakellm.Turn{Text: "Done."})...)
}

// obeys returns a model that makes the calls for the last message, and gives a final answer after a
// result.
func obeys(do func(task string) []fakellm.Call) fakellm.Model {
	return func(r *fakellm.Request) fakellm.Turn {
		if last := r.Messages[len(r.Messages)-1]; last.Role == llm.RoleUser {
			return fakellm.Turn{Calls: do(last.Parts.Text())}
		}
		return fakellm.Turn{Text: "Done."}
	}
}

func scriptSubagent(m moves) fakellm.Model {
	const task = "Write the greeting."
	id := regexp.MustCompile(`"agent_id":\s*"([^"]+)"`)
	child := answers(m.create("child.txt", "Hello.\n"))
	return func(r *fakellm.Request) fakellm.Turn {
		switch {
		case strings.Contains(r.Messages[0].Parts.Text(), task):
			return child(r)
		case r.Turn() == 0:
			return fakellm.Turn{Calls: calls(m.spawn(task))}
		case r.Turn() == 1:
			if found := id.FindStringSubmatch(strings.Join(results(r), "\n")); found != nil {
				return fakellm.Turn{Calls: calls(m.wait(found[1]))}
			}
		}
		return fakellm.Turn{Text: "Done."}
	}
}

// smoke holds one session with a model that may be real, so that its words are unknown.
type smoke struct {
	cell
	shell   time.Duration // how long a command may take when the model does not say
	onEvent func(agent.Event)
}

func newSmoke(t *testing.T, provider string) *smoke {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no commands on Windows, and most of the tasks need them")
	}
	list := dialects()
	i := slices.IndexFunc(list, func(m moves) bool { return m.profile.Provider == provider && m.profile.Dialect == "" })
	return &smoke{cell: cell{T: t, moves: list[i], dir: t.TempDir()}, onEvent: func(agent.Event) {}}
}

// start begins the session. Commands have the same default timeout in all profiles, for the task
// about it.
func (s *smoke) start(config providers.Config, model string, shell time.Duration) {
	s.Helper()
	s.shell = shell
	kind, err := providers.Find(s.profile.Provider)
	if err != nil {
		s.Fatal(err)
	}
	provider, err := kind.New(config)
	if err != nil {
		s.Fatal(err)
	}
	local, err := env.NewLocal(s.dir, env.LocalOptions{})
	if err != nil {
		s.Fatal(err)
	}
	s.session, err = agent.New(context.Background(), agent.Options{
		Client:  &llm.Client{Providers: []llm.Provider{provider}, Models: catalog.New().Get},
		Profile: s.profile, Model: model, Env: local, Tools: []tool.Tool{coding.Shell(shell)},
		Subagents: &agent.Subagents{},
		OutputDir: s.TempDir(), OnEvent: func(e agent.Event) { s.keep(e); s.onEvent(e) },
	})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := s.session.Close(); err != nil {
			s.Error(err)
		}
		if err := local.Close(); err != nil {
			s.Error(err)
		}
	})
}

// ask runs one input to its end, with what is queued after it.
func (s *smoke) ask(text string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), smokeTime)
	defer cancel()
	result, err := s.session.Submit(ctx, text)
	if err != nil {
		s.Fatal(err)
	}
	if result.Reason != agent.ReasonCompleted {
		s.Fatalf("the input ended because of %s: %q", result.Reason, result.Text)
	}
}

// once calls do when a tool is first called.
func (s *smoke) once(do func() error) {
	done := false
	s.onEvent = func(e agent.Event) {
		if _, ok := e.(*agent.ToolCallStart); ok && !done {
			done = true
			if err := do(); err != nil {
				s.Error(err)
			}
		}
	}
}

// has fails unless a file has the text, except for white space around it.
func (s *smoke) has(name, text string) {
	s.Helper()
	if got, err := os.ReadFile(filepath.Join(s.dir, name)); err != nil || strings.TrimSpace(string(got)) != text {
		s.Errorf("%s has %q, %v; want %q", name, got, err, text)
	}
}

// ended returns the TOOL_CALL_END events of a tool.
func (s *smoke) ended(name string) []*agent.ToolCallEnd {
	return slices.DeleteFunc(only[*agent.ToolCallEnd](&s.cell),
		func(e *agent.ToolCallEnd) bool { return e.Name != name })
}

// went fails unless a call of the tool succeeded. A model may need several attempts.
func (s *smoke) went(name string) {
	s.Helper()
	if ends := s.ended(name); !slices.ContainsFunc(ends, func(e *agent.ToolCallEnd) bool { return !e.IsError }) {
		s.Errorf("of %d calls of %s none went well", len(ends), name)
	}
}

func smokeCreate(s *smoke) {
	s.ask("Create the file hello.txt in the working directory. Its whole content is the line: Hello.")
	s.has("hello.txt", "Hello.")
}

func smokeEdit(s *smoke) {
	s.write("list.txt", "one\ntwo\n")
	s.ask("Read list.txt with read_file, then change its second line to the word three, by your tool for editing.")
	s.has("list.txt", "one\nthree")
	s.went("read_file")
}

func smokeRun(s *smoke) {
	s.write("make.sh", "echo made > made.txt\n")
	s.ask("Run the command `sh make.sh`.")
	s.has("made.txt", "made")
	s.went("shell")
}

// smokeTruncation checks that the event has the whole output and the model got less.
func smokeTruncation(s *smoke) {
	s.ask("Run the command `seq 1 20000` exactly like that, without a pipe. Then create the file last.txt with the " +
		"last number that it printed.")
	s.has("last.txt", "20000")
	ends := s.ended("shell")
	i := slices.IndexFunc(ends, func(e *agent.ToolCallEnd) bool { return strings.Contains(e.Output, "\n10000\n") })
	if i < 0 || !ends[i].OutputComplete {
		s.Fatalf("no event has the whole output; there were %d commands", len(ends))
	}
	for _, turn := range s.session.History() {
		for _, part := range turn.Message.Parts {
			if result, ok := part.(llm.ToolResult); ok && result.CallID == ends[i].CallID {
				if seen := result.Content.Text(); len(seen) >= len(ends[i].Output) ||
					!strings.Contains(seen, "truncated") {
					s.Errorf("the model got %d of %d bytes", len(seen), len(ends[i].Output))
				}
				return
			}
		}
	}
	s.Error("the history has no result of the command")
}

func smokeSteering(s *smoke) {
	const text = "One more thing that belongs to the task: create the file steered.txt with the line: yes"
	s.once(func() error { return s.session.Steer(context.Background(), text) })
	s.ask("Create the file first.txt with the line: one")
	s.has("first.txt", "one")
	s.has("steered.txt", "yes")
	if got := only[*agent.SteeringInjected](&s.cell); len(got) != 1 || got[0].Text != text {
		s.Errorf("the events of steering are %+v", got)
	}
	if got := only[*agent.UserInput](&s.cell); len(got) != 1 {
		s.Errorf("there were %d inputs", len(got))
	}
}

func smokeFollowUp(s *smoke) {
	const text = "Create the file second.txt with the line: two"
	s.once(func() error { return s.session.FollowUp(context.Background(), text) })
	s.ask("Create the file first.txt with the line: one")
	s.has("first.txt", "one")
	s.has("second.txt", "two")
	if got := only[*agent.UserInput](&s.cell); len(got) != 2 || got[1].Text != text {
		s.Errorf("the inputs are %+v", got)
	}
	for _, e := range only[*agent.ProcessingEnd](&s.cell) {
		if e.Reason != agent.ReasonCompleted {
			s.Errorf("an input ended because of %s", e.Reason)
		}
	}
}

func smokeSubagent(s *smoke) {
	s.ask("Do not do this yourself: have a subagent, by spawn_agent, create the file child.txt with the line: Hello. " +
		"Wait for it to end.")
	s.has("child.txt", "Hello.")
	worked := func(e *agent.SubagentEvent) bool {
		end, ok := e.Event.(*agent.ToolCallEnd)
		return ok && !end.IsError
	}
	if events := only[*agent.SubagentEvent](&s.cell); !slices.ContainsFunc(events, worked) {
		s.Errorf("the subagent made no call that went well, in %d events", len(events))
	}
	s.went("spawn_agent")
	s.went("wait")
}

// smokeTimeout has a command exceed the default timeout, and the model report it.
func smokeTimeout(s *smoke) {
	s.ask("This is a test of the time limit of commands. Run the command `sleep 30` with shell, in the foreground, " +
		"with no other argument than the command. It will be ended by its time limit. Do not try again, and say what " +
		"happened.")
	ends := s.ended("shell")
	if len(ends) == 0 {
		s.Fatal("no command was run")
	}
	first := ends[0]
	took := time.Duration(first.DurationMS) * time.Millisecond
	if !first.IsError || !strings.Contains(first.Output, "timed out") || took < s.shell ||
		took > s.shell+15*time.Second {
		s.Errorf("after %s the command came to an error: %t, with the output %q", took, first.IsError, first.Output)
	}
}
