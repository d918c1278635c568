package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
	"github.com/attractor-go/attractor/web"
)

// journals returns a store with the journal of one session. A real program has a journal.Dir.
func journals(ctx context.Context) journal.Store {
	store := journal.NewMemoryStore(false)
	model := llmtest.NewProvider("test",
		llmtest.Calls(llmtest.Call("edit_file", `{"file_path":"greet.txt","old_string":"wrold","new_string":"world"}`)),
		llmtest.Text("Fixed."))
	s, err := agent.Open(ctx, store, agent.Options{
		ID:     "session-1",
		Client: &llm.Client{Providers: []llm.Provider{model}},
		Profile: profile.Profile{Provider: "test", Model: "model-1", Prompt: "You fix.",
			Tools: []tool.Tool{coding.EditFile()}},
		Env: envtest.NewMemory(map[string]string{"greet.txt": "Hello, wrold!\n"}),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Submit(ctx, "fix the greeting"); err != nil {
		log.Fatal(err)
	}
	return store
}

// A session becomes one file, which a browser opens without a server.
func ExampleExport() {
	ctx := context.Background()
	var page bytes.Buffer // in a real program, a file
	if err := web.Export(ctx, &page, journals(ctx), "session-1", web.ExportOptions{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.HasPrefix(page.String(), "<!doctype html>"),
		strings.Contains(page.String(), "fix the greeting"))
	// Output:
	// true true
}

// A server shows the sessions of a store, also while they run. Its address has a token, without
// which it shows nothing.
func ExampleServer() {
	ctx, stop := context.WithCancel(context.Background())
	server := web.New(web.Options{Store: journals(ctx)})
	l, err := web.Listen(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, l) }()

	page := server.URL(l, "session-1") // for a browser
	fmt.Println(strings.Contains(page, "#"))
	got, err := http.Get(page)
	if err != nil {
		log.Fatal(err)
	}
	_, err = io.Copy(io.Discard, got.Body)
	fmt.Println(got.Status, got.Header.Get("Content-Type"), err, got.Body.Close())
	stop()
	fmt.Println(<-served)
	// Output:
	// true
	// 200 OK text/html; charset=utf-8 <nil> <nil>
	// <nil>
}

// A program draws a page of its own from the rows and sums of a Trace.
func ExampleTrace() {
	ctx := context.Background()
	kept, err := journals(ctx).Read(ctx, "session-1")
	if err != nil {
		log.Fatal(err)
	}
	defer kept.Close()
	trace := web.NewTrace(nil, nil)
	for record, err := range kept.Records(ctx, 1) {
		if err != nil {
			log.Fatal(err)
		}
		if _, _, err := trace.Add(record); err != nil {
			log.Fatal(err)
		}
	}
	for _, row := range trace.Rows(0, trace.Len()) {
		fmt.Println(row.Kind, row.Name, row.Text)
	}
	overview := trace.Overview(1)
	fmt.Println(overview.State, overview.Counts.Calls, "call,", overview.Files[0].Path, overview.Files[0].Change)
	// Output:
	// start model-1 began with test/model-1 in /work
	// input  fix the greeting
	// call edit_file greet.txt
	// text  Fixed.
	// end completed completed after 2 answers
	// close closed closed
	// closed 1 call, greet.txt modified
}
