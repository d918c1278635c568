package checkpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// A tree is recorded before and after something that changes it. Two trees are compared without the
// files.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := checkpoint.OpenDir(dir, checkpoint.DirOptions{})
	if err != nil {
		log.Fatal(err)
	}
	files := envtest.NewMemory(map[string]string{"greet.txt": "Hello, wrold!\n", "main.go": "package main\n"})
	recorder := checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: store, Owner: "session-1"})

	before, err := recorder.Record(ctx, files)
	if err != nil {
		log.Fatal(err)
	}
	if err := files.WriteFile(ctx, "greet.txt", []byte("Hello, world!\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	after, err := recorder.Record(ctx, files)
	if err != nil {
		log.Fatal(err)
	}
	changes, err := checkpoint.Changes(ctx, store, before.Root, after.Root)
	if err != nil {
		log.Fatal(err)
	}
	diff, err := checkpoint.NewDiff(ctx, store, changes, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(diff.Text())
	// Output:
	// diff --git a/greet.txt b/greet.txt
	// --- a/greet.txt
	// +++ b/greet.txt
	// @@ -1,1 +1,1 @@
	// -Hello, wrold!
	// +Hello, world!
}

// A session has changed two files, and somebody else one of them afterwards. The undo leaves that
// one alone.
func ExampleUndo() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := checkpoint.OpenDir(filepath.Join(dir, "store"), checkpoint.DirOptions{})
	if err != nil {
		log.Fatal(err)
	}
	files := envtest.NewMemory(map[string]string{"a.txt": "old\n", "b.txt": "old\n"})
	recorder := checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: store, Owner: "session-1"})
	record := func() env.Hash {
		tree, err := recorder.Record(ctx, files)
		if err != nil {
			log.Fatal(err)
		}
		return tree.Root
	}
	write := func(name, text string) {
		if err := files.WriteFile(ctx, name, []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}

	point := checkpoint.Point{Before: record()} // a Tracker makes these of a session's calls
	write("a.txt", "by the session\n")
	write("b.txt", "by the session\n")
	point.After = record()
	write("b.txt", "by a person\n")

	changes, err := checkpoint.Compose(ctx, store, []checkpoint.Point{point}, env.NoFile)
	if err != nil {
		log.Fatal(err)
	}
	workspace := checkpoint.Workspace{Env: files, Store: store, Record: recorder.Record, Owner: "session-1"}
	plan, err := checkpoint.NewPlan(ctx, workspace, changes, checkpoint.PlanOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(plan.Text(10)) // what a person is asked about
	result, err := checkpoint.Undo(ctx, workspace, plan, filepath.Join(dir, "plan.json"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("restored:", result.Restored)
	fmt.Printf("%q\n", files.Files())
	// Output:
	// Put back: 1 path
	//   a.txt
	// Left alone: 1 path
	//   b.txt: changed by somebody else since
	// restored: [a.txt]
	// map["a.txt":"old\n" "b.txt":"by a person\n"]
}

// A Tracker is a middleware of a session. It notes a point for each call that may have changed
// something.
func ExampleTracker() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := checkpoint.OpenDir(dir, checkpoint.DirOptions{})
	if err != nil {
		log.Fatal(err)
	}
	files := envtest.NewMemory(map[string]string{"greet.txt": "Hello, wrold!\n"})
	var s *agent.Session
	var points []checkpoint.Point
	tracker := checkpoint.NewTracker(checkpoint.TrackerOptions{
		Recorder: checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: store, Owner: "session-1"}),
		Env:      files,
		Note: func(ctx context.Context, kind string, data json.RawMessage, text string) error {
			var p checkpoint.Point
			if err := json.Unmarshal(data, &p); err != nil {
				return err
			}
			points = append(points, p) // later, agent.ReadNotes has them
			return s.Note(ctx, kind, data, text)
		},
	})
	model := llmtest.NewProvider("test",
		llmtest.Calls(llmtest.Call("read_file", `{"file_path":"greet.txt"}`)),
		llmtest.Calls(llmtest.Call("edit_file", `{"file_path":"greet.txt","old_string":"wrold","new_string":"world"}`)),
		llmtest.Text("Fixed."))
	s, err = agent.New(ctx, agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{model}},
		Profile: profile.Profile{Provider: "test", Model: "model-1", Prompt: "You fix.",
			Tools: []tool.Tool{coding.ReadFile(), coding.EditFile()}},
		Env:   files,
		Hooks: agent.Hooks{Middleware: []tool.Middleware{tracker.Middleware}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Submit(ctx, "fix the greeting"); err != nil {
		log.Fatal(err)
	}
	changes, err := checkpoint.Compose(ctx, store, points, env.NoFile)
	for _, change := range changes {
		fmt.Println(change.Path, err)
	}
	// Output:
	// greet.txt <nil>
}

// A tree that is too large is not recorded.
func ExampleRecorder_tooLarge() {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := checkpoint.OpenDir(dir, checkpoint.DirOptions{})
	if err != nil {
		log.Fatal(err)
	}
	files := envtest.NewMemory(map[string]string{"a.txt": "a", "b.txt": "b", "c.txt": "c"})
	recorder := checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: store, Owner: "session-1", MaxFiles: 2})
	_, err = recorder.Record(context.Background(), files)
	fmt.Println(err)
	// Output:
	// checkpoint: the tree has more than 2 files and directories; add what need not be recorded to .gitignore
}
