package profile_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// rendered returns the system prompt of a session, without its line breaks.
func rendered(p profile.Profile) string {
	return flat(agent.SystemPrompt(context.Background(), agent.Options{Profile: p, Instructions: "THE INSTRUCTIONS",
		Env: envtest.NewMemory(map[string]string{"AGENTS.md": "THE DOCUMENT"}),
		Now: func() time.Time { return time.Unix(0, 0) }}))
}

// says fails unless every profile's rendered prompt has its words for each topic exactly once.
func says(t *testing.T, named ...string) {
	t.Helper()
	for _, name := range named {
		for i, words := range topicOf(t, name) {
			p := all()[i]
			if n := strings.Count(rendered(p), words); n != 1 {
				t.Errorf("%s speaks %d times of %s, want once: %q", title(p), n, name, words)
			}
		}
	}
}

func TestR1_WhoseInstructionsCount(t *testing.T) {
	says(t, "whose instructions count", "the nearer document", "documents of directories below", "instructions in data")
	for i, p := range all() {
		prompt, last := rendered(p), -1
		for _, want := range []string{topicOf(t, "whose instructions count")[i], topicOf(t, "the nearer document")[i],
			topicOf(t, "instructions in data")[i],
			"They apply to all files in /work and below. THE DOCUMENT", "# Host instructions THE INSTRUCTIONS"} {
			at := strings.Index(prompt, want)
			if at <= last {
				t.Errorf("%s: %q is missing or in the wrong place", title(p), want)
			}
			last = at
		}
	}
}

func topicOf(t *testing.T, name string) [6]string {
	t.Helper()
	for _, row := range topics {
		if row.topic == name {
			return row.words
		}
	}
	t.Fatalf("there is no topic %q", name)
	return [6]string{}
}

// otherWords holds what prompts must not have: other words for a response, and requests for a
// running commentary.
var otherWords = regexp.MustCompile(
	`(?i)(one|next|later|same) answer|next message|while you work,|before a longer step|(explain|say|describe) what you (do|are about to|will)`)

func TestR2_HowTheWorkEnds(t *testing.T) {
	says(t, "how the work ends", "announcements", "questions", "calls side by side")
	for _, p := range all() {
		if found := otherWords.FindString(rendered(p)); found != "" {
			t.Errorf("%s has the words %q", title(p), found)
		}
	}
	if !otherWords.MatchString("Calls that need a result come in a later answer.") ||
		!otherWords.MatchString("While you work, a sentence is enough.") {
		t.Error("the expression finds nothing")
	}
}

func TestR3_RefusedCalls(t *testing.T) {
	says(t, "refused calls")
	for _, p := range all() {
		if prompt := rendered(p); !strings.Contains(prompt, "Approvals: ") || strings.Contains(prompt, "Network: ") ||
			strings.Contains(prompt, "Sandbox: ") {
			t.Errorf("%s: the environment block has too much or too little:\n%s", title(p), prompt)
		}
	}
}

func TestR4_WorkHabits(t *testing.T) {
	says(t, "reproducing", "tests of changes", "scratch files", "failed calls")
	for _, p := range all() {
		offered := slices.ContainsFunc(p.Tools, func(tool tool.Tool) bool { return tool.Name == "update_plan" })
		told := strings.Contains(rendered(p), "keep a plan with `update_plan`")
		if want := p.Name == "openai"; offered != want || told != want {
			t.Errorf("%s: the plan tool is offered: %t, told: %t, want %t", title(p), offered, told, want)
		}
	}
}

// The limits for prompts and tools of this project's own dialects, in bytes: they are sent with
// every request.
const (
	maxPrompt = 6 << 10
	maxTools  = 10 << 10
)

// sizes returns the bytes of a profile's prompt, and of the names, descriptions and parameters of
// its tools.
func sizes(t *testing.T, p profile.Profile) (prompt, tools int) {
	t.Helper()
	registry, err := tool.NewRegistry(p.Tools...)
	if err != nil {
		t.Fatal(err)
	}
	for _, def := range registry.Definitions() {
		tools += len(def.Name) + len(def.Description) + len(def.Parameters)
	}
	return len(p.Prompt), tools
}

func TestR10_Cost(t *testing.T) {
	const file, head = "../docs/adding/profile.md", "| profile | dialect | prompt | tools |\n|---|---|---:|---:|\n"
	table := head
	for _, p := range all() {
		prompt, tools := sizes(t, p)
		dialect := "native"
		if p.Dialect == "" {
			dialect = "own"
			if prompt > maxPrompt || tools > maxTools {
				t.Errorf("%s: the prompt has %d bytes and the tools %d; at most %d and %d", title(p), prompt, tools,
					maxPrompt, maxTools)
			}
		}
		table += fmt.Sprintf("| %s | %s | %d | %d |\n", p.Name, dialect, prompt, tools)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), head)
	_, after, ends := strings.Cut(rest, "\n\n")
	if !found || !ends {
		t.Fatalf("%s has no table of sizes", file)
	}
	want := before + table + "\n" + after
	switch {
	case want == string(data):
	case *rewrite:
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the sizes in %s are not those of the profiles (rewrite with -update, and read the difference):\n%s",
			file, table)
	}
}
