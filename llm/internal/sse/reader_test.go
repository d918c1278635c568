package sse

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// event is the data of an Event in the corpus's form.
type event struct {
	Data string `json:"data"`
}

// large is a maximum that no event here reaches, in bytes.
const large = 64 << 20

// chunks is a reader that returns its parts one by one.
type chunks struct{ parts [][]byte }

func (c *chunks) Read(p []byte) (int, error) {
	for len(c.parts) > 0 && len(c.parts[0]) == 0 {
		c.parts = c.parts[1:]
	}
	if len(c.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.parts[0])
	c.parts[0] = c.parts[0][n:]
	return n, nil
}

func pieces(b []byte, size int) *chunks {
	var parts [][]byte
	for len(b) > size {
		parts, b = append(parts, b[:size]), b[size:]
	}
	return &chunks{append(parts, b)}
}

func readAll(t testing.TB, r *Reader) ([]event, error) {
	t.Helper()
	events := []event{}
	for {
		ev, err := r.Next()
		if err == io.EOF {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, event{string(ev.Data)})
	}
}

type corpusCase struct {
	ID       string  `json:"id"`
	Body     *string `json:"body_b64"`
	Generate *struct {
		Prefix, Unit, Suffix string
		Count                int
	} `json:"generate"`
	Chunking []string `json:"chunking"`
	Events   []event  `json:"events"`
}

func (c *corpusCase) body(t *testing.T) []byte {
	if c.Generate != nil {
		g := c.Generate
		return []byte(g.Prefix + strings.Repeat(g.Unit, g.Count) + g.Suffix)
	}
	b, err := base64.StdEncoding.DecodeString(*c.Body)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func corpus(t *testing.T) []corpusCase {
	f, err := os.Open("../../../../shared/corpora/sse/cases.jsonl")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the sse corpus is not beside the work tree: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []corpusCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var c corpusCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestCorpus(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.ID, func(t *testing.T) {
			body := c.body(t)
			for _, chunking := range c.Chunking {
				switch chunking {
				case "whole":
					c.check(t, chunking, bytes.NewReader(body))
				case "1byte":
					c.check(t, chunking, iotest.OneByteReader(bytes.NewReader(body)))
				case "2byte":
					c.check(t, chunking, pieces(body, 2))
				case "7byte":
					c.check(t, chunking, pieces(body, 7))
				case "4096":
					c.check(t, chunking, pieces(body, 4096))
				case "split_at_every_offset":
					for i := range min(len(body), 2000) {
						c.check(t, chunking, &chunks{[][]byte{body[:i:i], body[i:]}})
					}
				default:
					t.Errorf("unknown chunking %q", chunking)
				}
			}
		})
	}
}

func (c *corpusCase) check(t *testing.T, chunking string, src io.Reader) {
	t.Helper()
	r := NewReader(src, large)
	got, err := readAll(t, r)
	if err != nil {
		t.Fatalf("%s: %v", chunking, err)
	}
	want := c.Events
	if c.Generate != nil {
		want = []event{}
		if c.Generate.Suffix != "" {
			want = []event{{strings.Repeat(c.Generate.Unit, c.Generate.Count)}}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s: events (-want +got):\n%s", chunking, diff)
	}
}

func TestIDs(t *testing.T) {
	r := NewReader(strings.NewReader(
		"id: 1\ndata: a\n\ndata: b\n\nid: x\x00y\ndata: c\n\nid: 7\n\ndata: d\n\nid: 8\nid: 9\ndata: e\n\n"), large)
	var ids []string
	for {
		ev, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, ev.ID)
	}
	if diff := cmp.Diff([]string{"1", "", "", "", "9"}, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// If a reader waited for more than the event's last byte, the last event of a slow stream would be
// late.
func TestEventIsOutAsSoonAsItEnds(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\r", "\r\n\r"} {
		pr, pw := io.Pipe()
		go func() {
			if _, err := io.WriteString(pw, "data: now"+end); err != nil {
				t.Error(err)
			}
		}()
		ev, err := NewReader(pr, large).Next() // would block forever
		if err != nil || string(ev.Data) != "now" {
			t.Errorf("%q: %q, %v", end, ev.Data, err)
		}
		pr.Close()
	}
}

func TestComments(t *testing.T) {
	r := NewReader(strings.NewReader(": ping\n\n:\n\ndata: x\n\n"), large)
	ev, err := r.Next()
	if err != nil || string(ev.Data) != "x" {
		t.Errorf("%q, %v; want x", ev.Data, err)
	}
}

// endless is a reader that repeats a unit forever and counts the bytes read.
type endless struct {
	unit string
	n    int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.unit[(e.n+i)%len(e.unit)]
	}
	e.n += len(p)
	return len(p), nil
}

func TestTooLong(t *testing.T) {
	const max = 1 << 20
	for _, unit := range []string{"data: x\n", "data\n", "data:x", ":x", "event:x", "x"} {
		src := &endless{unit: unit}
		r := NewReader(src, max)
		if _, err := r.Next(); !errors.Is(err, ErrTooLong) {
			t.Errorf("%q: %v, want ErrTooLong", unit, err)
		}
		if n := cap(r.line) + cap(r.data); n > 4*max {
			t.Errorf("%q: buffers of %d bytes", unit, n)
		}
	}
	for _, body := range []string{"data: 12345\n\n", "data: 12\ndata: 34\n\n", ":12345678901\n\ndata:1\n\n"} {
		if _, err := NewReader(strings.NewReader(body), 10).Next(); (err == nil) != (body == "data: 12\ndata: 34\n\n") {
			t.Errorf("%q with a maximum of 10: %v", body, err)
		}
	}
}

func TestIgnoredLinesTakeNoMemory(t *testing.T) {
	src := &endless{unit: ": keep-alive\nid: 1\n\n"}
	r := NewReader(io.LimitReader(src, 8<<20), large)
	if _, err := r.Next(); err != io.EOF {
		t.Fatal(err)
	}
	if n := cap(r.line) + cap(r.data); n > readSize {
		t.Errorf("buffers of %d bytes", n)
	}
}

func TestSourceErrors(t *testing.T) {
	broken := errors.New("broken")
	src := io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken))
	got, err := readAll(t, NewReader(src, large))
	if !errors.Is(err, broken) || len(got) != 1 || got[0].Data != "a" {
		t.Errorf("%v, %v; want the first event, then the source's error", got, err)
	}
	if _, err := NewReader(new(silent), large).Next(); err != io.ErrNoProgress {
		t.Errorf("a source that never returns anything: %v", err)
	}
}

type silent struct{}

func (*silent) Read([]byte) (int, error) { return 0, nil }

func FuzzChunking(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "\xEF\xBB\xBFdata:1\r\ndata: 2\r\n\r\n", "event: x\rdata\r\rdata: y",
		":c\n\nid: 1\nretry: 5\ndata\n\n",
		"data: a\ndata: bb\ndata: ccc\n\nid\x00: 1\n\n", "\r\r\n\n", "data: " + strings.Repeat("long",
			9000) + "\ndata: tail\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		whole, bytewise := NewReader(bytes.NewReader(b), large), NewReader(iotest.OneByteReader(bytes.NewReader(b)),
			large)
		want, err := readAll(t, whole)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(t, bytewise)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("byte by byte (-whole +bytewise):\n%s", diff)
		}
	})
}

func BenchmarkNext(b *testing.B) {
	one := "event: content_block_delta\ndata: " +
		"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" a few " +
		"words\"}}\n\n"
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	r := NewReader(&repeated{one: strings.Repeat(one, 100)}, large)
	for b.Loop() {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

type repeated struct {
	one string
	at  int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.one[r.at:])
	r.at = (r.at + n) % len(r.one)
	return n, nil
}

func TestRest(t *testing.T) {
	for body, want := range map[string]string{
		"data: a\n\n":                 "",
		"data: a\n\ndata: b\n":        "b",
		"data: a\n\ndata: b":          "b",
		"data: a\n\ndata: b\ndata: c": "b\nc",
		"data: a\n\ndata: b\n: ping":  "b",
		"data: a\n\ndat":              "",
	} {
		r := NewReader(strings.NewReader(body), large)
		got, err := readAll(t, r)
		if err != nil || len(got) != 1 || string(r.Rest()) != want {
			t.Errorf("%q: %d events, then %q, want %q (%v)", body, len(got), r.Rest(), want, err)
		}
		if _, err := r.Next(); err != io.EOF || len(r.Rest()) > 0 {
			t.Errorf("%q: then %v, and %q again", body, err, r.Rest())
		}
	}
}
