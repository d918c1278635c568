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
		"cat":                `unknown tool "cat"; use read_file.`,
		"view":               `unknown tool "view"; use read_file.`, // read_file does the same by itself
		"LS":                 "unknown tool \"LS\"; use Bash: `ls -la DIRECTORY`.",
		"container.exec":     `unknown tool "container.exec"; use Bash.`,
		"raed_file":          `unknown tool "raed_file"; use read_file.`,
		"search_the_web_now": `unknown tool "search_the_web_now", and no other does the same.`,
	} {
		o := callOf(r, name)
		if got := o.Model.Text(); !o.IsError ||
			!strings.HasPrefix(got, "Error: "+want+" The tools are: Bash, read_file.") {
			t.Errorf("%s: %s", name, got)
		}
	}
	r.Retire("Bash", "was removed from this session")
	if got := callOf(r, "Bash").Model.Text(); got != `Error: the tool "Bash" was removed from this session. The tools are: read_file.` {
		t.Errorf("a tool that was removed: %s", got)
	}
}

// A name that is a tool's but for what models write around it runs that tool.
func TestU3_NamesOfCalls(t *testing.T) {
	r := register(t, named("read_file", ""), named("Bash", ""), named("a_b", ""), named("a-b", ""))
	for name, want := range map[string]string{
		"functions.read_file": "read_file", "default_api:read_file": "read_file",
		"read_file<|channel|>commentary": "read_file", "tools/Bash": "Bash",
		"bash": "Bash", "ReadFile": "read_file", " read_file\n": "read_file", "<tool_call>Bash": "Bash",
		"[TOOL_CALLS]Bash": "Bash", "a_b": "a_b", "a-b": "a-b",
		// Those that cannot be told apart, and none:
		"AB": "", "": "", "functions.": "", "<|x|>": "", "multi_tool_use.parallel": "", "read": "",
	} {
		p := r.Prepare(call(name, `{}`))
		if want == "" {
			want = name
		}
		if p.Valid != (want != name || name == "a_b" || name == "a-b") || p.Call.Name != want {
			t.Errorf("%q is %q, valid %v; want %q", name, p.Call.Name, p.Valid, want)
		}
	}
}

func callOf(r *Registry, name string) *Outcome { return run(r, call(name, `{}`), nil) }
