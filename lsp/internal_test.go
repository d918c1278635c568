package lsp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// errorsAt returns errors from lines and messages, such as "3 undefined: x".
func errorsAt(t *testing.T, lines ...string) (list []diagnostic) {
	t.Helper()
	for _, l := range lines {
		number, message, _ := strings.Cut(l, " ")
		line := 0
		for _, c := range number {
			line = 10*line + int(c-'0')
		}
		list = append(list, diagnostic{path: "/w/a.go", line: line, col: 1, severity: isError, message: message})
	}
	return list
}

func TestM11_Added(t *testing.T) {
	for name, c := range map[string]struct {
		oldText, newText string
		old, now, want   []string
	}{
		"nothing":               {},
		"a first one":           {"a\n", "b\n", nil, []string{"1 x"}, []string{"1 x"}},
		"an old one":            {"a\nb\n", "a\nc\n", []string{"1 x"}, []string{"1 x"}, nil},
		"an old one that moved": {"a\nb\n", "0\n0\na\nb\n", []string{"2 x"}, []string{"4 x"}, nil},
		"one of two with one text": {"a\nb\nc\n", "a\nnew\nb\nc\n", []string{"1 x", "3 x"},
			[]string{"1 x", "2 x", "4 x"}, []string{"2 x"}},
		"the first of two": {"b\n", "new\nb\n", []string{"1 x"}, []string{"1 x", "2 x"}, []string{"1 x"}},
		"three where there was one": {"a\n", "b\nc\nd\n", []string{"1 x"}, []string{"1 x", "2 x", "3 x"},
			[]string{"2 x", "3 x"}},
		"one that is gone": {"a\n", "b\n", []string{"1 x"}, nil, nil},
		"a line number in a message": {"a\nb\n", "0\na\nb\n", []string{"2 x at a.go:1:2"}, []string{"3 x at a.go:2:2"},
			nil},
		"another message":           {"a\n", "b\n", []string{"1 x"}, []string{"1 y"}, []string{"1 y"}},
		"wherever a line has moved": {"a\nb\n", "b\na\n", []string{"1 x"}, []string{"2 x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := added(errorsAt(t, c.old...), errorsAt(t, c.now...), movedLines(c.oldText, c.newText))
			if diff := cmp.Diff(errorsAt(t, c.want...), got, cmp.AllowUnexported(diagnostic{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestM11_MovedLines(t *testing.T) {
	for _, c := range []struct {
		old, now string
		line     int
		want     int
	}{
		{"a\nb\nc\n", "a\nX\nb\nc\n", 3, 4},
		{"a\nb\nc\n", "a\nX\nb\nc\n", 1, 1},
		{"a\nb\nc\n", "c\n", 3, 1},
		{"a\nb\nc", "a\nb\nX\nc", 3, 4},
		{"", "a\n", 1, 2},
		{"a\n", "", 1, 1},
	} {
		if got := movedLines(c.old, c.now)(c.line); got != c.want {
			t.Errorf("line %d of %q is line %d of %q, want %d", c.line, c.old, got, c.now, c.want)
		}
	}
}

// Errors come before warnings, paths are as the tools show them, and nothing in them can look like
// another line.
func TestM11_Describe(t *testing.T) {
	list := []diagnostic{
		{path: "/w/z.go", line: 2, col: 3, severity: isError, message: "second"},
		{path: "/w/a.go", line: 9, col: 1, severity: isWarning, message: "last"},
		{path: "/w/sub/a\nb.go", line: 1, col: 1, severity: isError, message: "first"},
		{path: "/other/x.go", line: 1, col: 1, severity: isError, message: "outside"},
	}
	want := "[T:]\n/other/x.go:1:1: error: outside\n\"sub/a\\nb.go\":1:1: error: first\nz.go:2:3: error: second\n" +
		"a.go:9:1: warning: last"
	if got := describe("T:", list, "/w"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := clean("a\n\tb\x1b[31m\u202e c", 100); strings.ContainsAny(got, "\n\t\x1b\u202e") {
		t.Errorf("%q", got)
	}
}

// What is published about an older version of a document is not what is waited for, however long
// the right version takes.
func TestM11_OlderVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p published
		p.init("/w", silentTime)
		publish := func(version int, message string) {
			p.put(json.RawMessage(fmt.Sprintf(`{"uri":"file:///w/a","version":%d,"diagnostics":[{"message":%q}]}`,
				version, message)))
		}
		publish(1, "first")
		since := p.last()
		settled := make(chan error)
		go func() { settled <- p.settle(t.Context(), since, map[string]int{"/w/a": 2}, nil) }()
		publish(1, "late")
		time.Sleep(10 * time.Second)
		select {
		case err := <-settled:
			t.Fatalf("settled before the version came: %v", err)
		default:
		}
		publish(2, "right")
		publish(1, "later still")
		if err := <-settled; err != nil {
			t.Fatal(err)
		}
		if now := p.get("/w/a", 2); !now.known || len(now.list) != 1 || now.list[0].message != "right" {
			t.Errorf("%+v", now)
		}
	})
}

func TestM11_URIs(t *testing.T) {
	for _, name := range []string{"/a/b.go", "/a b/ü%#?.go", "C:/x/y.go"} {
		if got := pathOf(uriOf(name)); got != name {
			t.Errorf("%s is %s and back %s", name, uriOf(name), got)
		}
	}
	for uri, want := range map[string]string{"file:///c%3A/x.go": "C:/x.go", "file:///a/../b.go": "/b.go",
		"untitled:x": "", "file:": "", "%": ""} {
		if got := pathOf(uri); got != want {
			t.Errorf("%s is %q, want %q", uri, got, want)
		}
	}
}

// A call does not wait for a server that is behind. If it did, this test would not end.
func TestM11_NobodyWaitsForAServerThatIsBehind(t *testing.T) {
	s := New(Options{})
	r := &runner{s: s, behind: true, queue: []*job{{}}}
	j := &job{of: r, done: make(chan struct{})}
	if found := j.wait(context.Background()); found != nil || !j.left {
		t.Errorf("%v, left: %t", found, j.left)
	}
	j.add(errorsAt(t, "1 x"))
	r.said = map[string]verdict{"/w/a.go": {errorsAt(t, "7 x"), true}}
	if got := s.overdue(agent{}); len(got) != 1 {
		t.Errorf("late: %v", got)
	}
	if got := s.overdue(agent{}); got != nil || s.lates.Load() != 0 {
		t.Errorf("late again: %v", got)
	}
	j.add(errorsAt(t, "1 y"))
	if got := s.overdue(agent{}); len(got) != 0 {
		t.Errorf("what is not true any more is told: %v", got)
	}
}

// FuzzM11_Messages gives what a server sends to the reader and to all that looks into messages.
func FuzzM11_Messages(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"))
	f.Add([]byte("content-length:60\nX: y\n\n{\"method\":\"textDocument/publishDiagnostics\",\"params\":{\"uri\":1}}"))
	f.Add([]byte(`Content-Length: 95

{"id":1,"method":"workspace/configuration","params":{"items":[{"section":"a"},{"section":""}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		in := bufio.NewReader(bytes.NewReader(data))
		for {
			body, err := readMessage(in)
			if err != nil {
				break
			}
			i := &instance{spec: &Server{Settings: []byte(`{"a":1}`)}, root: "/w"}
			i.published.init("/w", silentTime)
			for _, method := range []string{"textDocument/publishDiagnostics", "$/progress", "workspace/configuration",
				"client/registerCapability"} {
				i.notified(method, body)
				i.asked(method, body)
			}
			for _, d := range readDiagnostics("/w/a", []json.RawMessage{body}) {
				if d.line < 1 || d.col < 1 || strings.Contains(d.message, "\n") {
					t.Errorf("%+v", d)
				}
			}
		}
	})
}
