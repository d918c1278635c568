package rules_test

import (
	"testing"

	"github.com/attractor-go/attractor/rules"
)

// Several rules in one text are told from one rule that contains parentheses and commas.
func TestL1_ListsAreNoRules(t *testing.T) {
	for text, want := range map[string]bool{
		"shell(rm),shell(curl)": true, "Bash(rm *),shell(curl *)": true, "read_file(./a),edit_file(./b)": true,
		"Bash(rm *) Bash(curl *)": true,
		" Bash(rm),Bash(curl) ":   true, "Bash(rm), mcp__lab__grind, Bash(x)": true, "Bash(rm:*),\nEdit(./x)": true,
		"Bash(rm *),WebSearch,Bash(curl *)": true,
		"Bash(rm)":                          false, "Bash": false, `Bash(python -c "f(a), g(b)")`: false,
		"Bash(echo (a), b)": false,
		"Read(./a (b), c)":  false, "Edit(./(x))": false,
	} {
		if got := rules.IsList(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
