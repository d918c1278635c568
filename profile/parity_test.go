package profile_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// TestAC12_Parity runs the parity matrix: every profile and dialect can do the same things.
func TestAC12_Parity(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no commands on Windows, and half of the rows need them")
	}
	rows := []struct {
		name string
		play func(c *cell)
	}{
		{"create a file", createFile},
		{"read then edit", readThenEdit},
		{"edit several files", editSeveral},
		{"shell", runShell},
		{"shell timeout", shellTimeout},
		{"grep and glob", grepAndGlob},
		{"read analyse edit", readAnalyseEdit},
		{"truncation", truncation},
		{"parallel calls", parallelCalls},
		{"steering", steering},
		{"effort change", effortChange},
		{"subagent", subagent},
		{"loop warning", loopWarning},
		{"recovery from an error", recovery},
		{"editing format", editingFormat},
	}
	for i, m := range dialects() {
		if title(m.profile) != title(all()[i]) {
			t.Errorf("the moves of number %d are for %s, want %s", i, title(m.profile), title(all()[i]))
		}
		for _, row := range rows {
			t.Run(row.name+"/"+title(m.profile), func(t *testing.T) {
				t.Parallel()
				row.play(newCell(t, m))
			})
		}
	}
}

func createFile(c *cell) {
	c.script(calls(c.create("src/a.txt", "one\ntwo\n")))
	c.submit()
	c.ends(false)
	c.wantFile("src/a.txt", "one\ntwo\n")
}

func readThenEdit(c *cell) {
	c.write("a.txt", "one\ntwo\n")
	c.script(calls(c.read("a.txt")), calls(c.edit("a.txt", "two", "three")))
	c.submit()
	c.ends(false, false)
	c.saw(1, "two")
	c.wantFile("a.txt", "one\nthree\n")
}

func editSeveral(c *cell) {
	for _, name := range []string{"a.txt", "b.txt", "src/c.txt"} {
		c.write(name, "one\ntwo\n")
	}
	c.script(calls(c.edit("a.txt", "two", "a")), calls(c.edit("b.txt", "two", "b"), c.edit("src/c.txt", "one", "c")),
		calls(c.edit("a.txt", "a", "A")))
	c.submit()
	c.ends(false, false, false, false)
	c.wantFile("a.txt", "one\nA\n")
	c.wantFile("b.txt", "one\nb\n")
	c.wantFile("src/c.txt", "c\ntwo\n")
}

func runShell(c *cell) {
	c.write("a.txt", "one\n")
	c.script(calls(c.run("cat a.txt > b.txt; echo out; echo err >&2; exit 3")))
	c.submit()
	c.wantFile("b.txt", "one\n")
	got := strings.ToLower(strings.Join(results(c.request(1)), "\n"))
	for _, want := range []string{"out\n", "err"} {
		if !strings.Contains(got, want) {
			c.Errorf("the model sees %q, without %q", got, want)
		}
	}
	if !regexp.MustCompile(`code:? 3`).MatchString(got) {
		c.Errorf("the model sees %q, without the exit code", got)
	}
}

// shellTimeout runs a command that takes longer than the model waits. It is killed if the dialect's
// shell has a timeout, and otherwise goes on.
func shellTimeout(c *cell) {
	c.script(calls(c.slow("echo begun; sleep 600")))
	c.submit()
	c.ends(!c.running)
	c.saw(1, "begun")
	c.saw(1, c.stopped)
	if ms := only[*agent.ToolCallEnd](c)[0].DurationMS; !c.running && ms < 1000 {
		c.Errorf("the command was ended after %d ms", ms)
	}
}

func grepAndGlob(c *cell) {
	c.write("src/a.go", "package a // needle\n")
	c.write("src/b.txt", "hay\n")
	c.script(calls(c.search("needle")), calls(c.list("go")))
	c.submit()
	c.ends(false, false)
	for i, of := range []string{"the search", "the list"} {
		c.saw(i+1, "a.go")
		if got := results(c.request(i + 1)); strings.Contains(strings.Join(got, "\n"), "b.txt") {
			c.Errorf("%s has found b.txt too: %q", of, got)
		}
	}
	c.saw(1, "needle")
}

// readAnalyseEdit has the model make an edit that depends on what it has read.
func readAnalyseEdit(c *cell) {
	c.write("a.txt", "name: x\ntotal: 41\n")
	number := regexp.MustCompile(`total: (\d+)`)
	c.model = func(r *fakellm.Request) fakellm.Turn {
		switch r.Turn() {
		case 0:
			return fakellm.Turn{Calls: calls(c.read("a.txt"))}
		case 1:
			found := number.FindStringSubmatch(strings.Join(results(r), "\n"))
			if found == nil {
				return fakellm.Turn{Text: "There is no total."}
			}
			n, err := strconv.Atoi(found[1])
			if err != nil {
				return fakellm.Turn{Text: err.Error()}
			}
			return fakellm.Turn{Calls: calls(c.edit("a.txt", found[0], fmt.Sprintf("total: %d", n+1)))}
		}
		return fakellm.Turn{Text: "Done."}
	}
	c.submit()
	c.ends(false, false)
	c.wantFile("a.txt", "name: x\ntotal: 42\n")
}

func truncation(c *cell) {
	c.script(calls(c.run("seq 1 20000")))
	c.submit()
	var whole strings.Builder
	for i := range 20000 {
		fmt.Fprintln(&whole, i+1)
	}
	end := c.ends(false)[0]
	if !strings.Contains(end.Output, strings.TrimSuffix(whole.String(), "\n")) || !end.OutputComplete {
		c.Errorf("the event has %d bytes, complete: %t; want all of the %d", len(end.Output), end.OutputComplete,
			whole.Len())
	}
	got := strings.Join(results(c.request(1)), "\n")
	for _, want := range []string{"1\n2\n3\n", "\n19999\n20000", "truncated"} {
		if !strings.Contains(got, want) {
			c.Errorf("the model does not see %q", want)
		}
	}
	if strings.Contains(got, "\n10000\n") || len(got) > 45_000 {
		c.Errorf("the model sees the middle, or too much: %d bytes", len(got))
	}
}

// parallelCalls has two commands that end only if they run at the same time, and checks the order
// of the results.
func parallelCalls(c *cell) {
	if out, err := exec.Command("mkfifo", filepath.Join(c.dir, "pipe")).CombinedOutput(); err != nil {
		c.Fatalf("%v: %s", err, out)
	}
	c.write("a.txt", "three\n")
	c.script(calls(c.run("cat pipe"), c.run("echo one > pipe; echo two"), c.read("a.txt")))
	c.submit()
	c.ends(false, false, false)
	got := results(c.request(1))
	if len(got) != 3 || !strings.Contains(got[0], "one") || !strings.Contains(got[1], "two") ||
		!strings.Contains(got[2], "three") {
		c.Errorf("the results are %q", got)
	}
}

// steering sends a message during the first response.
func steering(c *cell) {
	const text = "Write French from now on."
	c.write("a.txt", "one\n")
	c.model = func(r *fakellm.Request) fakellm.Turn {
		if r.Turn() > 0 {
			return fakellm.Turn{Text: "Done."}
		}
		if err := c.session.Steer(context.Background(), text); err != nil {
			c.Error(err)
		}
		return fakellm.Turn{Calls: calls(c.read("a.txt"))}
	}
	c.submit()
	c.ends(false)
	if got := only[*agent.SteeringInjected](c); len(got) != 1 || got[0].Text != text {
		c.Errorf("the events of steering are %+v", got)
	}
	c.saw(1, "one")
	messages := c.request(1).Messages
	result := slices.IndexFunc(messages, func(m llm.Message) bool { return m.Role == llm.RoleTool })
	steered := slices.IndexFunc(messages, func(m llm.Message) bool {
		return m.Role == llm.RoleUser && strings.Contains(m.Parts.Text(), text)
	})
	if result < 0 || steered != result+1 {
		c.Errorf("the result is message %d, the steering message %d", result, steered)
	}
}

// effortChange sets the effort during an input and checks all requests. Anthropic's API does not
// let it change while results are being sent: the host is told, and the first request of the next
// input has it.
func effortChange(c *cell) {
	c.write("a.txt", "one\n")
	c.model = func(r *fakellm.Request) fakellm.Turn {
		if r.Turn() > 1 {
			return fakellm.Turn{Text: "Done."}
		}
		if r.Turn() == 1 {
			high := "high"
			if err := c.session.Set(context.Background(), agent.Settings{Effort: &high}); err != nil {
				c.Error(err)
			}
		}
		return fakellm.Turn{Calls: calls(c.read("a.txt"))}
	}
	c.submit()
	c.submit()
	want, warnings := []string{"low", "low", "high", "high"}, 0
	if c.profile.Provider == "anthropic" {
		want[2], warnings = "low", 1
	}
	for i, effort := range want {
		r := c.request(i)
		if r.Effort != effort || !strings.Contains(strings.ToLower(string(r.Body)), `"`+effort+`"`) {
			c.Errorf("request %d has the effort %q, want %q", i, r.Effort, effort)
		}
	}
	if got := only[*agent.Warning](c); len(got) != warnings || warnings == 1 && got[0].Code != "effort_later" {
		c.Errorf("the warnings are %+v", got)
	}
}

// subagent has an agent do a part. Some dialects start it and wait for it in two calls.
func subagent(c *cell) {
	const task, report = "Count the lines of a.txt.", "There are 7 of them."
	id := regexp.MustCompile(`"agent_id":\s*"([^"]+)"`)
	c.model = func(r *fakellm.Request) fakellm.Turn {
		switch {
		case strings.Contains(r.Messages[0].Parts.Text(), task):
			return fakellm.Turn{Text: report}
		case r.Turn() == 0:
			return fakellm.Turn{Calls: calls(c.spawn(task))}
		case r.Turn() == 1 && c.wait != nil:
			found := id.FindStringSubmatch(strings.Join(results(r), "\n"))
			if found == nil {
				return fakellm.Turn{Text: "There is no agent."}
			}
			return fakellm.Turn{Calls: calls(c.wait(found[1]))}
		}
		return fakellm.Turn{Text: "Done."}
	}
	c.submit()
	requests := c.server.Requests()
	i := len(requests) - 1
	c.saw(i, report)
	if want := map[bool]int{false: 3, true: 4}[c.wait != nil]; len(requests) != want {
		c.Errorf("there were %d requests, want %d", len(requests), want)
	}
	if len(only[*agent.SubagentEvent](c)) == 0 {
		c.Error("the subagent had no events")
	}
	for _, e := range only[*agent.ToolCallEnd](c) {
		if e.IsError {
			c.Errorf("%s failed: %s", e.Name, e.Output)
		}
	}
}

func loopWarning(c *cell) {
	c.write("a.txt", "one\n")
	again := calls(c.read("a.txt"))
	c.script(again, again, again, again, again)
	c.submit()
	c.ends(false, false, false, false, false)
	got := only[*agent.LoopDetection](c)
	if len(got) != 1 || got[0].Period != 1 || got[0].Repeats != 5 || got[0].Text == "" {
		c.Fatalf("the warnings are %+v", got)
	}
	for i, want := range []bool{false, false, false, false, false, true} {
		messages := c.request(i).Messages
		if told := strings.Contains(messages[len(messages)-1].Parts.Text(), got[0].Text); told != want {
			c.Errorf("request %d ends with the warning: %t, want %t", i, told, want)
		}
	}
}

// recovery has an edit fail without a change, and then a correct one succeed.
func recovery(c *cell) {
	c.write("a.txt", "one\ntwo\n")
	c.script(calls(c.edit("a.txt", "nowhere in it", "three")), calls(c.read("a.txt")),
		calls(c.edit("a.txt", "two", "three")))
	c.submit()
	failed := c.ends(true, false, false)[0]
	c.saw(1, failed.Output)
	c.saw(2, "two")
	c.wantFile("a.txt", "one\nthree\n")
}

// editingFormat checks that the format is the one that the vendor's models know: patches for
// OpenAI, texts to replace for others.
func editingFormat(c *cell) {
	c.write("a.txt", "old\nold\n")
	call := c.twice("a.txt", "old", "new")
	c.script(calls(call))
	c.submit()
	c.ends(false)
	c.wantFile("a.txt", "new\nnew\n")
	first := c.request(0)
	if !slices.Contains(first.Tools, call.Name) || !strings.Contains(string(first.Body), c.declared) {
		c.Errorf("the tools are %q; want one declared as %s", first.Tools, c.declared)
	}
}
