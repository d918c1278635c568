package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/attractor-go/attractor/internal/texts"
)

// Whatever an editor sends, the agent answers with messages and ends.
func FuzzN1_Messages(f *testing.F) {
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n"
	for _, line := range []string{`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/tmp","mcpServers":[{"name":"a","command":"b","args":[],"env":[]}]}}`,
		`{"jsonrpc":"2.0","id":"x","method":"session/prompt","params":{"sessionId":"a","prompt":[{"type":"text","text":"hi"},{"type":"resource","resource":{"uri":"file:///a","text":"b"}}]}}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"a"}}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`,
		`{"jsonrpc":"2.0","id":3,"method":"session/set_config_option","params":{"sessionId":"a","configId":"mode","value":true}}`, `[`, `{"id":null}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":4,"method":"session/list","params":{"cwd":"x"}}`} {
		f.Add(begin + line)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := &Agent{Name: "a", Version: "1", Resumes: true, Open: func(context.Context, Opening) (*Session,
			error) {
			return nil, Errorf(CodeAuthRequired, "no key")
		},
			List:   func(context.Context, string, string) ([]Listed, string, error) { return nil, "", nil },
			Delete: func(context.Context, string) error { return errors.ErrUnsupported }}
		var out bytes.Buffer
		if err := a.Serve(t.Context(), strings.NewReader(text), &out); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			var m message
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" || m.ID == nil ||
				(m.Error == nil) == (m.Result == nil) || m.Method != "" {
				t.Errorf("%q: %v", line, err)
			}
		}
	})
}

// Lines are read whole, or cut and reported, in bounded memory, however they arrive.
func FuzzN1_Lines(f *testing.F) {
	f.Add("a\nbb\n\n  \nccc", 2)
	f.Add(strings.Repeat("x", 70_000)+"\ny", 100)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = max(min(most, 1<<20), 1)
		text = strings.TrimLeft(text, "\ufeff")
		var want []string
		for line := range strings.Lines(text) {
			want = append(want, line)
		}
		in := texts.NewLines(iotest.HalfReader(strings.NewReader(text)), most)
		for i := 0; ; i++ {
			line, err := in.Next()
			if errors.Is(err, io.EOF) {
				if i != len(want) {
					t.Errorf("%d lines, want %d", i, len(want))
				}
				return
			}
			if i >= len(want) {
				t.Fatalf("a line too many: %q", line)
			}
			long := len(strings.TrimSuffix(want[i], "\n")) > most
			switch {
			case long != errors.Is(err, texts.ErrTooLong), err != nil && !long:
				t.Errorf("line %d of %d bytes: %v", i, len(want[i]), err)
			case long && (len(line) > texts.KeptOfLong || !strings.HasPrefix(want[i], string(line))), !long &&
				string(line) != strings.TrimRight(want[i], "\r\n"):
				t.Errorf("line %d: %q", i, line)
			}
		}
	})
}

// The hunks of a diff change the old text into the new one, and are where the text changes.
func FuzzN1_Hunks(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc\n")
	f.Add("", "new\n")
	f.Add("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n", "A\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nL\n")
	f.Fuzz(func(t *testing.T, old, now string) {
		if old != "" && !strings.HasSuffix(old, "\n") || now != "" && !strings.HasSuffix(now, "\n") ||
			strings.ContainsAny(old+now, "\r") {
			return
		}
		text := old
		for _, h := range hunksOf(string(diff.Diff("a", []byte(old), "b", []byte(now)))) {
			if !strings.Contains(text, h.old) {
				t.Fatalf("%q is not in %q", h.old, text)
			}
			if lines := strings.SplitAfter(now, "\n"); h.line < 1 || h.line > len(lines) {
				t.Errorf("line %d of %d", h.line, len(lines))
			}
			if !strings.Contains(now, h.now) {
				t.Errorf("%q is not in %q", h.now, now)
			}
		}
	})
}

// The id of a request is found in the beginning of one that is too long.
func TestN1_IDOfALongRequest(t *testing.T) {
	for beginning, want := range map[string]string{`{"jsonrpc":"2.0","id":5,"method":"x","params":{"a":"bbb`: "5",
		`{"id":"a\"b","me`: `"a\"b"`, `{"jsonrpc":"2.0","method":"x","params":{"id":7`: "null",
		`{"id":{}`: "null", `{"id":`: "null", ``: "null", `[1`: "null", `{"params":{"id":1},"id":2}`: "2"} {
		if got, isResponse := headOf([]byte(beginning)); string(got) != want || isResponse {
			t.Errorf("%s: %s, want %s", beginning, got, want)
		}
	}
}
