package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// What files define is listed, without starting anything, and run uses a command by its name.
func TestM7_CommandsOfTheProgram(t *testing.T) {
	url, server := serve(t, nil, fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	h.put(".claude/commands/git/commit.md",
		"---\ndescription: Commits\nargument-hint: [message]\nmodle: x\n---\nCommit $1: !`echo ran`\n")
	h.put(".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Fills\n---\nFill.\n")
	h.put(".agents/agents/reviewer.md",
		"---\nname: reviewer\ndescription: Reviews\ntools: Read, Grep\nmodel: haiku\n---\nReview.\n")
	if out := h.run(0, "commands"); out.stdout != "" || !strings.Contains(out.stderr,
		"skills: pdf; commands: git:commit; agents: reviewer") {
		t.Errorf("untrusted: %q, %q", out.stdout, out.stderr)
	}
	out := h.run(0, "commands", "--trust-project")
	var rows []string
	for line := range strings.Lines(out.stdout) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	if len(rows) != 2 || rows[0] != "/git:commit [message] command project Commits" ||
		rows[1] != "/pdf - skill project Fills" || !strings.Contains(out.stderr,
		"unknown fields have no effect: modle") {
		t.Errorf("%q, %q", rows, out.stderr)
	}
	var list []listedCommand
	if err := json.Unmarshal([]byte(h.run(0, "commands", "--trust-project", "--json").stdout), &list); err != nil ||
		len(list) != 2 || list[0].Hint != "[message]" {
		t.Errorf("%+v, %v", list, err)
	}
	if got := strings.Join(strings.Fields(h.run(0, "agents", "--trust-project").stdout),
		" "); got != "reviewer project haiku Read, Grep Reviews" {
		t.Errorf("%q", got)
	}
	own := filepath.Join(h.home, ".claude", "agents")
	if err := os.MkdirAll(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(own, "mine.md"), []byte("---\nname: mine\ndescription: Helps\n---\nHelp.\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if out := h.run(0, "tools"); !strings.Contains(out.stdout, "- mine: Helps") {
		t.Errorf("%q, %q", out.stdout, out.stderr)
	}
	if out := h.run(2, "run", "--yes", "--trust-project", "/git:comit x"); !strings.Contains(out.stderr,
		"did you mean /git:commit?") {
		t.Errorf("%q", out.stderr)
	}
	h.run(0, "run", "--yes", "--trust-project", "/git:commit all")
	if requests := server.Requests(); len(requests) != 1 || !strings.Contains(string(requests[0].Body),
		"Commit all: ran") {
		t.Errorf("%d requests", len(requests))
	}
}
