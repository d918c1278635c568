package tool

import (
	"strings"
	"testing"
)

func TestR9_UnknownToolsNameWhatToCall(t *testing.T) {
	read, run := named("read_file", ""), named("Bash", "")
	read.Instead = []Instead{{Of: []string{"cat", "view"}}}
	run.Instead = []Instead{{Of: []string{"view", "ls"}, How: "`ls -la DIRECTORY`"}, {Of: []string{"exec"}}}
	r := register(t, run, read)
	for name, want := range map[string]string{
		"ReadFile":           `unknown tool "ReadFile"; use read_file.`,
		"cat":                `unknown tool "cat"; use read_file.`,
		"view":               `unknown tool "view"; use read_file.`, // read_file does the same by itself
		"LS":                 "unknown tool \"LS\"; use Bash: `ls -la DIRECTORY`.",
		"functions.bash":     `unknown tool "functions.bash"; use Bash.`,
		"container.exec":     `unknown tool "container.exec"; use Bash.`,
		"raed_file":          `unknown tool "raed_file"; use read_file.`,
		"search_the_web_now": `unknown tool "search_the_web_now", and no other does the same.`,
	} {
		o := callOf(r, name)
		if got := o.Model.Text(); !o.IsError || !strings.HasPrefix(got, "Error: "+want+" The tools are: Bash, read_file.") {
			t.Errorf("%s: %s", name, got)
		}
	}
	r.Retire("Bash", "was removed from this session")
	if got := callOf(r, "Bash").Model.Text(); got != `Error: the tool "Bash" was removed from this session. The tools are: read_file.` {
		t.Errorf("a tool that was removed: %s", got)
	}
}

func callOf(r *Registry, name string) *Outcome { return run(r, call(name, `{}`), nil) }
