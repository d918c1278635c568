package load

import (
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env/envtest"
)

// A project on another machine cannot hide its rules that deny behind many other files. That not
// all of them are named is told.
func TestO1_RulesAmongManyFilesElsewhere(t *testing.T) {
	t.Parallel()
	files := map[string]string{".attractor/rules.json": "{}",
		".claude/settings.json": `{"permissions":{"deny":["Read(secret)"]}}`, ".claude/skills/a/b/c/d/e/SKILL.md": "x"}
	few := envtest.NewMemory(files)
	for i := range maxFarFiles {
		files[fmt.Sprintf(".attractor/agents/%03d.md", i)] = "x"
	}
	many := envtest.NewMemory(files)
	for i, e := range []*envtest.Memory{few, many} {
		p := Far(t.Context(), e, e.WorkDir(), "/here")
		for _, name := range projectRules()[:2] {
			if f := p.File(name); f == nil || string(f.Data) != files[name] {
				t.Errorf("%d: %s is %+v", i, name, f)
			}
		}
		told := len(p.Problems) == 1 && strings.Contains(p.Problems[0].Error(), "more than 200 files")
		if told != (e == many) || p.Trusted || len(p.Files) > maxFarFiles {
			t.Errorf("%d: the problems are %v; %d files", i, p.Problems, len(p.Files))
		}
	}
}
