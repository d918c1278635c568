package rules_test

import (
	"testing"

	"github.com/attractor-go/attractor/tool"
)

// Reads does not depend on the rules: whatever they allow, only a command that the built-in table
// takes for reading reads.
func TestN8_ModesReads(t *testing.T) {
	p := newProject(t, "file.txt", "Cargo.toml", "files")
	none, all := p.load(`{}`), p.load(`{"allow": ["Bash"]}`)
	read := 0
	for _, c := range corpus[safetyCase](t, "shell_safety") {
		if c.Kind != "known_safe" && c.Kind != "dangerous" && c.Kind != "must_not_auto_approve" {
			continue
		}
		d, free := p.command(none, c.script()), p.command(all, c.script())
		if d.Reads != free.Reads {
			t.Errorf("%s: %s reads: %v without rules, and %v with one that allows all", c.ID, c.script(), d.Reads,
				free.Reads)
		}
		if d.Verdict == tool.Allow && !d.Reads {
			t.Errorf("%s: %s is allowed as a command that reads, and does not read", c.ID, c.script())
		}
		if d.Reads {
			read++
			if d.Verdict != tool.Allow {
				t.Logf("%s: %s reads, and asks: %s", c.ID, c.script(), d.Reason)
			}
		}
	}
	if read < 10 {
		t.Errorf("only %d commands read", read)
	}
}

// A command reads if all its parts do, wherever its files are.
func TestN8_ModesReadsByParts(t *testing.T) {
	p := newProject(t, "file.txt")
	all := p.load(`{"allow": ["Bash", "Edit", "Read"]}`)
	for script, want := range map[string]bool{
		"cat file.txt": true, "cat file.txt | grep x | wc -l": true, "ls; pwd": true, "cat /etc/hostname": true,
		"cat ~/.ssh/id_rsa": true, "grep x file.txt 2>/dev/null": true,
		"sh -c ls": true, "sh -c 'touch a'": false, "touch a": false, "cat file.txt; touch a": false,
		"cat file.txt >copy": false, "cat file.txt >>file.txt": false, "echo $(touch a)": false,
		"cat $(ls)": false, "sed -i s/a/b/ file.txt": false, "find . -delete": false, "git commit -m x": false,
		"go test ./...": false, "LD_PRELOAD=x cat file.txt": false,
		"cat file.txt &": true, "unknown-program": false, "eval cat file.txt": false,
	} {
		if d := p.command(all, script); d.Reads != want {
			t.Errorf("%s reads: %v", script, d.Reads)
		}
	}
}
