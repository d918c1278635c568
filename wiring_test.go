package attractor_test

import (
	"reflect"
	"regexp"
	"runtime"
	"testing"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/secret"
)

// Around a call the parts of the wiring stand in the order that wiring.go says.
func TestT5_OrderAroundACall(t *testing.T) {
	o := newOpened(t, fakellm.Turn{Text: "done"})
	o.write("~/.claude/settings.json",
		`{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"true"}]}]}}`)
	o.write("go.mod", "module example.com/m\n")
	c := o.config()
	c.Load, c.TrustProject, c.LanguageServers = attractor.LoadUser, true, "gopls"
	c.Store, c.Checkpoints = journal.NewDir(t.TempDir()), t.TempDir()
	var parts []string
	c.Instrument = func(o *agent.Options, _ *secret.Masker) {
		for _, m := range o.Middleware {
			parts = append(parts, runtime.FuncForPC(reflect.ValueOf(m).Pointer()).Name())
		}
	}
	session, err := attractor.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	order := []string{"masked|maskDoors", "lsp|LanguageServers", "checkpoint|Checkpoints", "hooks|Hooks",
		"instructions|Documents", "permit|openGate", "refusals|openGate"} // in the names of the functions
	if len(parts) != len(order) {
		t.Fatalf("the calls pass %q, want %q", parts, order)
	}
	for i, want := range order {
		if !regexp.MustCompile(want).MatchString(parts[i]) {
			t.Errorf("place %d is %s, want %s", i, parts[i], want)
		}
	}
}
