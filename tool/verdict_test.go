package tool_test

import (
	"testing"

	"github.com/attractor-go/attractor/tool"
)

// Every verdict has a name, and what is no verdict is shown as what it does.
func TestQ3_VerdictsHaveNames(t *testing.T) {
	for v, want := range map[tool.Verdict]string{tool.Deny: "deny", tool.Allow: "allow", tool.Ask: "ask", 9: "deny"} {
		if got := v.String(); got != want {
			t.Errorf("%d is %q, want %q", uint8(v), got, want)
		}
	}
}
