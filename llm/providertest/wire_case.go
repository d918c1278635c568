package providertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/attractor-go/attractor/llm"
)

// WireCase is one case of [Wire].
type WireCase struct {
	Name    string // the file's name without its extension
	file    string
	archive *txtar.Archive
}

// WireCases returns the cases of a directory, in the order of their names. A directory without
// cases fails the test.
func WireCases(t testing.TB, dir string) []*WireCase {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s: %v", dir, err)
	}
	var cases []*WireCase
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, &WireCase{Name: strings.TrimSuffix(filepath.Base(file), ".txtar"), file: file,
			archive: archive})
	}
	return cases
}

// Section returns the text of a section; "" if it is missing.
func (c *WireCase) Section(name string) string {
	for _, f := range c.archive.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// Read decodes a JSON section into v, whose type must have all members of the section. If the
// section is missing, v does not change.
func (c *WireCase) Read(t testing.TB, name string, v any) {
	t.Helper()
	text := c.Section(name)
	if text == "" {
		return
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func (c *WireCase) request(t testing.TB, model string) *llm.Request {
	t.Helper()
	req := &llm.Request{Model: model, Messages: []llm.Message{llm.User("hi")}}
	if c.Section("request.json") != "" {
		req = new(llm.Request)
		c.Read(t, "request.json", req)
	}
	if c.Section("facts.json") != "" {
		req.Facts = new(llm.Model)
		c.Read(t, "facts.json", req.Facts)
	}
	return req
}

// answer returns the case's response. Without one it is empty, so the call ends with an error,
// which Wire ignores.
func (c *WireCase) answer() Recording {
	r := Recording{Status: http.StatusOK, ContentType: eventStream, Body: []byte(c.Section("response.sse"))}
	if len(r.Body) == 0 {
		r.ContentType, r.Body = oneJSON, []byte(c.Section("response.json"))
	}
	if status, err := strconv.Atoi(strings.TrimSpace(c.Section("status"))); err == nil {
		r.Status = status
	}
	return r
}

// write writes the golden sections to the case's file, after the others.
func (c *WireCase) write(t testing.TB, golden []goldenSection) {
	t.Helper()
	c.archive.Files = slices.DeleteFunc(c.archive.Files, func(f txtar.File) bool {
		return slices.ContainsFunc(golden, func(g goldenSection) bool { return g.name == f.Name })
	})
	for _, g := range golden {
		if g.text != "" {
			c.archive.Files = append(c.archive.Files, txtar.File{Name: g.name, Data: []byte(g.text)})
		}
	}
	if err := os.WriteFile(c.file, txtar.Format(c.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// renderEvents formats events, one on each line, and then the error.
func renderEvents(t testing.TB, events []llm.StreamEvent, err error) string {
	t.Helper()
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
	}
	return b.String()
}
