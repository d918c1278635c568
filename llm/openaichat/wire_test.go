package openaichat

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

var update = flag.Bool("update", false, "rewrite the golden sections of testdata/*.txtar")

// TestWire runs the cases of testdata, one a file. Sections:
//
//	request.json   the llm.Request
//	facts.json     its Facts, where there are some
//	options.json   the provider's switches
//	body.json      golden: what we send, indented
//	response.sse   what comes back, or response.json
//	events         golden: the stream's events, the error at the end included
func TestWire(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c := wireCase{ar: ar, golden: map[string]string{}}
			c.run(t)
			if *update {
				c.write(t, file)
				return
			}
			for name, got := range c.golden {
				if diff := cmp.Diff(c.section(name), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

type wireCase struct {
	ar     *txtar.Archive
	golden map[string]string
}

func (c *wireCase) section(name string) string {
	for _, f := range c.ar.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func (c *wireCase) write(t *testing.T, file string) {
	c.ar.Files = slices.DeleteFunc(c.ar.Files, func(f txtar.File) bool { _, ok := c.golden[f.Name]; return ok })
	for _, name := range []string{"body.json", "events"} {
		if text := c.golden[name]; text != "" {
			c.ar.Files = append(c.ar.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	if err := os.WriteFile(file, txtar.Format(c.ar), 0o644); err != nil {
		t.Fatal(err)
	}
}

// read decodes a section, which may be missing.
func (c *wireCase) read(t *testing.T, name string, v any) {
	text := c.section(name)
	if text == "" {
		return
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatal(name, ": ", err)
	}
}

func (c *wireCase) request(t *testing.T) *llm.Request {
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("hi")}} // where the case is about the answer
	if c.section("request.json") != "" {
		req = new(llm.Request)
		c.read(t, "request.json", req)
	}
	if c.section("facts.json") != "" {
		req.Facts = new(llm.Model)
		c.read(t, "facts.json", req.Facts)
	}
	return req
}

// noBody stands for an answer that a case does not care about.
const noBody = `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`

func (c *wireCase) run(t *testing.T) {
	var body []byte
	client := llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		answer := c.section("response.sse")
		if answer == "" {
			w.Header().Set("Content-Type", "application/json")
			answer = c.section("response.json")
		}
		if answer == "" {
			answer = noBody
		}
		io.WriteString(w, answer)
	}))
	o := Options{BaseURL: "http://api.test/v1", HTTPClient: client}
	c.read(t, "options.json", &o)
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ids := 0
	p.newID = func() string { ids++; return fmt.Sprintf("made%d", ids) }
	events, err := llmtest.Contract(t, p.Stream(t.Context(), c.request(t)))
	if c.section("request.json") != "" && body != nil {
		c.golden["body.json"] = indent(t, body)
		accepted(t, body)
	}
	if c.section("response.sse")+c.section("response.json") != "" || body == nil {
		c.golden["events"] = render(t, events, err)
	}
}

func indent(t *testing.T, body []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", " "); err != nil {
		t.Errorf("the body is no JSON: %v\n%s", err, body)
	}
	b.WriteByte('\n')
	return b.String()
}

// accepted asks a peer that is as strict as the strictest server whether it takes a body.
func accepted(t *testing.T, body []byte) {
	client := llmtest.PipeClient(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	resp, err := client.Post("http://api.test/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		t.Errorf("the body is refused: %s", text)
	}
}

// render writes events one a line.
func render(t *testing.T, events []llm.StreamEvent, err error) string {
	var b strings.Builder
	for _, ev := range events {
		fmt.Fprintf(&b, "%v", ev.Type)
		switch ev.Type {
		case llm.EventStart:
			fmt.Fprintf(&b, " %s %s", ev.ID, ev.Model)
		case llm.EventFinish:
			data, err := json.MarshalIndent(ev.Response, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, " %s", data)
		default:
			fmt.Fprintf(&b, " %d", ev.Block)
		}
		switch ev.Type {
		case llm.EventCallStart:
			fmt.Fprintf(&b, " %s %s", ev.ID, ev.Name)
		case llm.EventTextDelta, llm.EventThinkingDelta, llm.EventCallDelta:
			fmt.Fprintf(&b, " %q", ev.Delta)
		}
		b.WriteByte('\n')
	}
	var e *llm.Error
	if errors.As(err, &e) {
		fmt.Fprintf(&b, "error %s: %v\n", llm.KindOf(e), e)
	}
	return b.String()
}
