package attractor_test

import (
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
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
	o.write("~/.claude/settings.json", `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"true"}]}]}}`)
	o.write("go.mod", "module example.com/m\n")
	c := o.config()
	c.Load, c.TrustProject, c.LanguageServers = attractor.LoadUser, true, "gopls"
	c.Store, c.Checkpoints = journal.NewDir(t.TempDir()), t.TempDir()
	var parts []string
	c.Instrument = func(o *agent.Options, _ *secret.Masker) {
		for _, m := range o.Middleware {
			name := runtime.FuncForPC(reflect.ValueOf(m).Pointer()).Name()
			dir, base := filepath.Split(strings.TrimPrefix(name, "github.com/attractor-go/attractor/"))
			base, _, _ = strings.Cut(base, ".")
			parts = append(parts, dir+base)
		}
	}
	session, err := attractor.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	want := []string{"secret/masked", "lsp", "checkpoint", "ext/hooks", "instructions", "permit"}
	if !slices.Equal(parts, want) {
		t.Errorf("the calls pass %q, want %q", parts, want)
	}
}
