//go:build unix

package cli

import (
	"strings"
	"testing"
)

// Rules are kept for the project by default, everywhere with the flag, listed in this order, and
// removed. What is not there is told with the place where it is.
func TestX2_RulesCommands(t *testing.T) {
	t.Parallel()
	h := newHome(t, unusedURL)
	if out := h.run(0, "rules", "list"); out.stdout != "" || !strings.Contains(out.stderr, "no rules were kept") {
		t.Errorf("nothing: %+v", out)
	}
	h.run(0, "rules", "add", "--everywhere", "--verdict", "deny", "Bash(git push:*)")
	if out := h.run(0, "rules", "add", "Bash(make:*)"); !strings.Contains(out.stdout,
		"for "+h.dir+": allow Bash(make:*)") {
		t.Errorf("added: %+v", out)
	}
	list := h.run(0, "rules", "list").stdout
	if fields := strings.Fields(list); strings.Join(fields, " ") != h.dir+
		" allow Bash(make:*) everywhere deny Bash(git push:*)" {
		t.Errorf("the list is %s", list)
	}
	if out := h.run(0, "rules", "check", "make all"); !strings.Contains(out.stdout, "allow: Bash(make:*)") {
		t.Errorf("checked: %+v", out)
	}
	if out := h.run(exitAsk, "rules", "check", "--dir", t.TempDir(), "make all"); !strings.Contains(out.stdout, "ask") {
		t.Errorf("checked elsewhere: %+v", out)
	}
	if out := h.run(exitUsage, "rules", "remove", "Bash(git push:*)"); !strings.Contains(out.stderr,
		"but for all projects;") {
		t.Errorf("removed from the wrong place: %+v", out)
	}
	h.run(0, "rules", "remove", "--everywhere", "Bash(git push:*)")
	h.run(0, "rules", "remove", "Bash(make:*)")
	if out := h.run(exitUsage, "rules", "remove", "Bash(make:*)"); !strings.Contains(out.stderr, "was not kept") {
		t.Errorf("removed twice: %+v", out)
	}
	if out := h.run(0, "rules", "list", "--json").stdout; strings.TrimSpace(out) != "[]" {
		t.Errorf("the empty list is %s", out)
	}
	const note = "starts at the project's root"
	h.run(0, "rules", "add", "Read(//etc/**)")
	h.run(0, "rules", "add", "--everywhere", "Read(/etc/**)")
	if out := h.run(0, "rules", "list"); strings.Contains(out.stderr, note) {
		t.Errorf("the list speaks of a root for nothing: %+v", out)
	}
	h.run(0, "rules", "add", "Edit(/**)")
	if out := h.run(0, "rules", "list"); !strings.Contains(out.stderr, note) {
		t.Errorf("the list does not say where / starts: %+v", out)
	}
	if out := h.run(exitUsage, "rules", "add", "Bash("); !strings.Contains(out.stderr, "the rule") {
		t.Errorf("a wrong rule: %+v", out)
	}
}
