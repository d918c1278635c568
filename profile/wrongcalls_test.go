package profile_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/sanitize"
)

var rewrite = flag.Bool("update", false, "rewrite the results in testdata/wrong")

// wrongCall holds one entry of a file in testdata/wrong: a line "# title", lines "+ tool arguments"
// with preparing calls, a line "> tool arguments" with the wrong call, and then what the model
// reads, indented.
type wrongCall struct {
	title string
	calls []string // the last one is the wrong one
	want  string
}

func wrongFile(p profile.Profile) string {
	return filepath.Join("testdata", "wrong", strings.ReplaceAll(title(p), "/", "-")+".txt")
}

func readWrongCalls(t *testing.T, file string) []wrongCall {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []wrongCall
	for _, line := range lines(string(data)) {
		title, isTitle := strings.CutPrefix(line, "# ")
		switch {
		case isTitle:
			list = append(list, wrongCall{title: title})
		case line == "":
		case strings.HasPrefix(line, "> "), strings.HasPrefix(line, "+ "):
			w := &list[len(list)-1]
			w.calls = append(w.calls, line)
		default:
			list[len(list)-1].want += strings.TrimPrefix(line, "    ") + "\n"
		}
	}
	return list
}

func writeWrongCalls(t *testing.T, file string, list []wrongCall) {
	t.Helper()
	var b strings.Builder
	for i, w := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("# " + w.title + "\n" + strings.Join(w.calls, "\n") + "\n")
		for _, line := range lines(w.want) {
			b.WriteString("    " + line + "\n")
		}
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// asCall returns the call of a line in the file. Text that is not JSON is sent as it is, a patch
// with its line breaks.
func asCall(line string) fakellm.Call {
	name, args, _ := strings.Cut(line[2:], " ")
	if !strings.HasPrefix(args, "{") || !json.Valid([]byte(args)) {
		return fakellm.Call{Name: name, Raw: strings.ReplaceAll(args, `\n`, "\n")}
	}
	return fakellm.Call{Name: name, Args: json.RawMessage(args)}
}

// wrongFiles holds the files in the work tree of a session of wrong calls.
var wrongFiles = map[string]string{
	"a.txt": "one\ntwo\nthree\n", "twice.txt": "same\nsame\n", "unread.txt": "old\n", "shared.txt": "ours\n",
	"src/main.go": "package main\n",
	"data.bin":    "\x7fELF\x00\x01", "utf16.txt": "\xff\xfeh\x00i\x00", "old.bmp": "BM\x00\x00\x00\x00",
}

// volatile holds patterns of what differs from run to run, or with every new tool of a profile.
var volatile = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`Wall time: [0-9.]+ seconds`), "Wall time: 0.0 seconds"},
	{regexp.MustCompile(`The tools are: [^.\n]*`), "The tools are: $$TOOLS"},
	{regexp.MustCompile(`Chunk ID: [0-9a-f]+`), "Chunk ID: 000000"},
	{regexp.MustCompile(`\n  [0-9]+ sleep 600`), "\n  4711 sleep 600"},
	{regexp.MustCompile(" It was running `sleep 600`\\."), ""}, // the shell may not have come to it
	{regexp.MustCompile(`/bin/[a-z]*sh: |(bash|sh): (line )?`), "sh: "},
}

// TestR9_WrongCalls has the model of each profile and dialect make wrong calls in a real session,
// and compares what it reads.
func TestR9_WrongCalls(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no commands on Windows, and many of the calls need them")
	}
	for _, m := range dialects() {
		t.Run(title(m.profile), func(t *testing.T) {
			t.Parallel()
			file := wrongFile(m.profile)
			list := readWrongCalls(t, file)
			if len(list) < 60 {
				t.Errorf("%d wrong calls, want 60", len(list))
			}
			got := playWrongCalls(newCell(t, m), list)
			if *rewrite {
				writeWrongCalls(t, file, got)
				return
			}
			for i, w := range list {
				if diff := cmp.Diff(w.want, got[i].want); diff != "" {
					t.Errorf("%s: %s (-want +got; rewrite with -update, and read every change as the model would)\n%s",
						w.title, w.calls[len(w.calls)-1], diff)
				}
			}
		})
	}
}

// playWrongCalls makes the calls in one session, and returns them with what the model has read.
func playWrongCalls(c *cell, list []wrongCall) []wrongCall {
	for name, content := range wrongFiles {
		c.write(name, content)
	}
	var turns []fakellm.Turn
	var last []int // the turn of each wrong call
	for _, w := range list {
		for _, line := range w.calls {
			turns = append(turns, fakellm.Turn{Calls: calls(asCall(line))})
		}
		last = append(last, len(turns)-1)
	}
	script := fakellm.Script(append(turns, fakellm.Turn{Text: "Done."})...)
	c.model = func(r *fakellm.Request) fakellm.Turn {
		if r.Messages[0].Parts.Text() != "Do it." {
			return fakellm.Turn{Text: "There are none."} // a subagent
		}
		return script(r)
	}
	c.submit()
	var told []string
	for i := range c.server.Requests() {
		if r := c.request(i); r.Messages[0].Parts.Text() == "Do it." {
			told = append(told, strings.Join(results(r), "\n"))
		}
	}
	ends := only[*agent.ToolCallEnd](c)
	var got []wrongCall
	for i, w := range list {
		w.want = ""
		if !ends[last[i]].IsError {
			w.want = "(no error)\n"
		}
		text := strings.NewReplacer(ends[last[i]].CallID, "$CALL", c.dir, "$WORK").Replace(told[last[i]+1])
		for _, v := range volatile {
			text = v.pattern.ReplaceAllString(text, v.with)
		}
		w.want += strings.TrimSuffix(text, "\n") + "\n"
		if strings.Contains(text, "(no error)") || sanitize.Text(text) != text {
			c.Errorf("%s: not fit for a file: %q", w.title, text)
		}
		got = append(got, w)
	}
	return got
}

// TestR7_DialectsHaveTheirOwnWords checks that no dialect uses names of another dialect's tools and
// parameters, in the descriptions of its tools and in what the model reads after a wrong call.
func TestR7_DialectsHaveTheirOwnWords(t *testing.T) {
	known := map[string]bool{"run_in_background": true, "is_background": true}
	for _, p := range all() {
		for word := range wordsOf(t, p) {
			known[word] = true
		}
	}
	for _, p := range all() {
		own := wordsOf(t, p)
		foreign := func(where, text, quoted string) {
			for _, word := range regexp.MustCompile(`\w+`).FindAllString(text, -1) {
				if known[word] && !own[word] && !strings.Contains(quoted, word) {
					t.Errorf("%s: %s: %s is a word of another dialect:\n%s", title(p), where, word, text)
				}
			}
		}
		for _, x := range p.Tools {
			foreign(x.Name, x.Description+string(x.Parameters)+x.Guidance, "")
		}
		for _, w := range readWrongCalls(t, wrongFile(p)) {
			foreign(w.title, w.want, strings.Join(w.calls, "\n"))
		}
	}
}

// wordsOf returns those names of a profile's tools and parameters that cannot occur by chance:
// those with an underscore, and some more.
func wordsOf(t *testing.T, p profile.Profile) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	add := func(word string) {
		if strings.Contains(word, "_") || slices.Contains([]string{"Bash", "glob"}, word) {
			words[word] = true
		}
	}
	for _, x := range p.Tools {
		add(x.Name)
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(x.Parameters, &schema); err != nil && x.Grammar == nil {
			t.Fatal(err)
		}
		for name := range schema.Properties {
			add(name)
		}
	}
	return words
}
