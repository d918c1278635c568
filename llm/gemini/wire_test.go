package gemini

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
	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "rewrite the golden sections of testdata/*.txtar")

// TestWire runs the cases of testdata, one a file. Sections:
//
//	request.json   the llm.Request
//	facts.json     its Facts, where there are some
//	url            golden: where it goes, when that is not the model's plain endpoint
//	body.json      golden: what we send, indented
//	refused        golden: what the scripted server says against it, where it does not take it
//	response.sse   what comes back, or response.json; status is its status when that is not 200
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
	for _, name := range []string{"url", "body.json", "refused", "events"} {
		if text := c.golden[name]; text != "" {
			c.ar.Files = append(c.ar.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	if err := os.WriteFile(file, txtar.Format(c.ar), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c *wireCase) request(t *testing.T) *llm.Request {
	var req llm.Request
	text := c.section("request.json")
	if text == "" { // the case is about the answer
		text = `{"model":"gemini-3-x","messages":[{"role":"user","parts":[{"text":{"text":"hi"}}]}]}`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&req); err != nil {
		t.Fatal("request.json: ", err)
	}
	if facts := c.section("facts.json"); facts != "" {
		req.Facts = new(llm.Model)
		if err := json.Unmarshal([]byte(facts), req.Facts); err != nil {
			t.Fatal("facts.json: ", err)
		}
	}
	return &req
}

func (c *wireCase) run(t *testing.T) {
	var body []byte
	var url string
	client := llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		url = r.URL.String()
		w.Header().Set("Content-Type", "text/event-stream")
		answer := c.section("response.sse")
		if answer == "" {
			w.Header().Set("Content-Type", "application/json")
			answer = c.section("response.json")
		}
		var status int
		if _, err := fmt.Sscan(c.section("status"), &status); err == nil {
			w.WriteHeader(status)
		}
		io.WriteString(w, answer)
	}))
	p, err := New(Options{APIKey: "k", BaseURL: "http://api.test/", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	req := c.request(t)
	events, err := llmtest.Contract(t, p.Stream(t.Context(), req))
	if c.section("request.json") != "" {
		c.golden["body.json"] = indent(t, body)
		if body != nil {
			c.golden["refused"] = refused(t, url, body)
		}
		if url != "" && url != "/v1beta/models/"+req.Model+":streamGenerateContent?alt=sse" {
			c.golden["url"] = url + "\n"
		}
	}
	if c.section("response.sse")+c.section("response.json") != "" || body == nil {
		c.golden["events"] = render(t, events, err)
	}
}

func indent(t *testing.T, body []byte) string {
	if body == nil {
		return ""
	}
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", " "); err != nil {
		t.Errorf("the body is no JSON: %v\n%s", err, body)
	}
	b.WriteByte('\n')
	return b.String()
}

// refused asks a peer that is as strict as the API whether it takes a body, and returns what it says against it.
func refused(t *testing.T, url string, body []byte) string {
	client := llmtest.PipeClient(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	hr, err := http.NewRequest("POST", "http://api.test"+url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	hr.Header = http.Header{"X-Goog-Api-Key": {"k"}}
	resp, err := client.Do(hr)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == 200 {
		return ""
	}
	return string(text) + "\n"
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
		case llm.EventProvider:
			fmt.Fprintf(&b, " %s", ev.Raw)
		}
		b.WriteByte('\n')
	}
	var e *llm.Error
	if errors.As(err, &e) {
		fmt.Fprintf(&b, "error %s: %v\n", llm.KindOf(e), e)
		if e.RetryAfter > 0 {
			fmt.Fprintf(&b, "retry after %v\n", e.RetryAfter)
		}
	}
	return b.String()
}
