package coding

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// outputSession is a session with an output store.
type outputSession struct {
	tool.Plain
	outputs *tool.DirOutputs
}

func (k *outputSession) Outputs() tool.Outputs { return k.outputs }

func TestA17_ReadOutput(t *testing.T) {
	b := newFixture(t)
	s := &outputSession{outputs: tool.NewOutputs(t.TempDir())}
	defer s.outputs.Close()
	registry, err := tool.NewRegistry(Shell(0), ReadOutput())
	if err != nil {
		t.Fatal(err)
	}
	run := func(name, args string) (string, bool) {
		o := registry.Run(context.Background(), llm.ToolCall{ID: "call_7", Name: name, Args: args},
			tool.Call{Env: b.env, Session: s}, nil)
		return o.Model.Text(), o.IsError
	}
	text, failed := run("shell", `{"command":"for i in $(seq 2000); do echo line $i; done"}`)
	if failed || !strings.Contains(text, `call read_output with id "call_7"`) || strings.Contains(text, "line 1000\n") {
		t.Fatalf("%v %.600s", failed, text)
	}
	for _, tt := range []struct {
		args, want string
		fails      bool
	}{
		{`{"id":"call_7","offset":1000,"limit":2}`,
			"1000 | line 1000\n1001 | line 1001\n[There is more; go on with offset 1002.]\n", false},
		{`{"id":"call_7","offset":1999}`, "1999 | line 1999\n2000 | line 2000\n", false},
		{`{"id":"call_7","pattern":"^line 1[0-9]{2}5$","limit":2}`,
			"1005 | line 1005\n1015 | line 1015\n[There is more; go on with offset 1025.]\n", false},
		{`{"id":"call_7","offset":5000}`, "The output has only 2000 lines.", false},
		{`{"id":"call_7","pattern":"nope"}`, "No line from 1 on matches; the output has 2000 lines.", false},
		{`{"id":"call_8"}`, "run the call again", true},
		{`{"id":"call_7","pattern":"("}`, "is not a valid regular expression", true},
		{`{"id":"call_7","offset":-1}`, "negative", true},
	} {
		if got, failed := run("read_output", tt.args); failed != tt.fails || !strings.Contains(got, tt.want) ||
			!tt.fails && got != tt.want {
			t.Errorf("%s: %v %q, want %q", tt.args, failed, got, tt.want)
		}
	}
	whole, odd := strings.Repeat("x", maxOutputLine), "x"+strings.Repeat("é", maxOutputLine)
	if got, err := outputLines(t.Context(), strings.NewReader(whole+"\n"+whole[1:]+"\r\n"+odd),
		pageFrom(1)); err != nil ||
		got != "  1 | "+whole+"\n  2 | "+whole[1:]+"\n  3 | "+odd[:maxOutputLine-1]+" [the line goes on]\n" {
		t.Errorf("lines that just fit, or that are cut within a character: %v %q", err, got)
	}
	long := strings.Repeat("é", 5000)
	if got, err := outputLines(t.Context(), strings.NewReader(fmt.Sprintf("a\n%s\nb", long)),
		pageFrom(1)); err != nil || !strings.Contains(got, "[the line goes on]\n  3 | b\n") {
		t.Errorf("%v %.100s", err, got)
	}
}

// TestK13_OutputTime has read_output say where to go on when its time is over.
func TestK13_OutputTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	const want = "[There is more; go on with offset 2.]\n"
	if got, err := outputLines(ctx, strings.NewReader("a\nb\nc\n"), pageFrom(2)); err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if page := pageFrom(1); page.addTurn(ctx, tool.Turn{Text: "a\nb\n"}) || page.shown != 0 {
		t.Errorf("%+v", page)
	}
}

func pageFrom(line int) *page {
	return &page{match: regexp.MustCompile(""), offset: line, limit: defaultOutputLines}
}

// TestK13_LargePatterns has grep and read_output refuse a pattern that would take 100 MB.
func TestK13_LargePatterns(t *testing.T) {
	b := newFixture(t)
	b.put("f", "a")
	for _, c := range []tool.Tool{Grep(), ReadOutput()} {
		b.fails(c, object{"pattern": strings.Repeat(".{1000}", 3300)}, "it is too large", "Use smaller numbers")
	}
}
