package hooks

import (
	"testing"
	"unicode/utf8"
)

// Whatever hooks print, they decide something or fail, and what they say is bounded.
func FuzzM9_Output(f *testing.F) {
	f.Add(`{"continue": false, "decision": "block", "hookSpecificOutput": {"permissionDecision": "deny", "updatedInput": {"a": 1}, "decision": {"behavior": "allow"}}}`)
	f.Add("text\n{}")
	f.Fuzz(func(t *testing.T, text string) {
		for _, event := range Events() {
			for _, strict := range []bool{false, true} {
				a, err := read(event, text, strict)
				if err != nil {
					continue
				}
				if whole := combine([]answer{a, a}); whole.stance != a.stance || whole.stop != a.stop {
					t.Errorf("%s: together %+v, alone %+v", event, whole, a)
				}
				for _, said := range append(append([]string{a.reason}, a.context...), a.messages...) {
					if utf8.RuneCountInString(said) > maxText+500 || !utf8.ValidString(said) {
						t.Errorf("%s: %d bytes", event, len(said))
					}
				}
			}
		}
	})
}
