package rules_test

import (
	"context"
	"path"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// lookedUp counts how often each mark of an environment of python is looked up.
type lookedUp struct {
	env.Base
	times map[string]int
}

func (l lookedUp) Stat(ctx context.Context, name string) (env.Info, error) {
	if base := path.Base(name); base == "pyvenv.cfg" || base == "conda-meta" {
		l.times[name]++
	}
	return l.Base.Stat(ctx, name)
}

// A directory is looked at once in a call, however often its files are judged: on another machine
// each look takes as long as the way there.
func TestU17_MarksOfPythonAreLookedUpOnce(t *testing.T) {
	p := newProject(t, "a/b/c/d/e/")
	e := lookedUp{Base: env.Base{Environment: p.env}, times: map[string]int{}}
	d := p.load(`{}`).Decide(t.Context(), e, p.request(e, tools(t), "write_file",
		map[string]string{"file_path": "a/b/c/d/e/x.go", "content": "x"}))
	if d.Verdict != tool.Ask || len(e.times) != 12 {
		t.Errorf("the decision is %v, and %d marks were looked up", d.Verdict, len(e.times))
	}
	for name, times := range e.times {
		if times != 1 {
			t.Errorf("%s was looked up %d times", name, times)
		}
	}
}
