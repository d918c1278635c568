package doors_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// checkpoints is a sketch of package checkpoint. Before each call that may change files it stores the tree of the working directory, as
// blobs of the journal, and a note that names it. Results of commands get the changes between the trees.
type checkpoints struct {
	log   journal.Log
	alone sync.Mutex           // held during a call that may write, so that the trees show only its changes
	known map[string]treeEntry // the last stored entries, by path
}

// checkpoint is the note for a call.
type checkpoint struct {
	Call   string `json:"call,omitempty"`
	Tree   string `json:"tree,omitempty"` // hash of a blob
	Undone string `json:"undone,omitempty"`
}

const checkpointNote = "checkpoint"

// keep implements tool.Middleware.
func (c *checkpoints) keep(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		if call.Access.Effect == tool.ReadOnly {
			return next(ctx, call)
		}
		c.alone.Lock()
		defer c.alone.Unlock()
		before, err := c.snapshot(ctx, call.Env)
		if err != nil {
			return tool.Result{}, err
		}
		hash, err := c.log.PutBlob(ctx, strings.NewReader(mustJSON(before)))
		if err == nil {
			err = call.Session.Note(ctx, checkpointNote, json.RawMessage(mustJSON(checkpoint{Call: call.ID, Tree: hash})), "")
		}
		if err != nil {
			return tool.Result{}, err
		}
		result, err := next(ctx, call)
		if err == nil && result.Changes == nil {
			var after map[string]treeEntry
			after, err = c.snapshot(ctx, call.Env)
			result.Changes = changes(call.Env.WorkDir(), before, after)
		}
		return result, err
	}
}

// undo restores the tree from before a call, and tells the model.
func (c *checkpoints) undo(ctx context.Context, s *agent.Session, e env.Environment, call string) error {
	var to map[string]treeEntry
	err := agent.Project(ctx, c.log, func(ev agent.Event) {
		var note checkpoint
		if n, ok := ev.(*agent.NoteWritten); !ok || n.Note != checkpointNote || json.Unmarshal(n.Data, &note) != nil || note.Call != call {
			return
		}
		if data, err := c.blob(ctx, note.Tree); err == nil {
			_ = json.Unmarshal(data, &to)
		}
	})
	now, taken := c.snapshot(ctx, e)
	if err = errors.Join(err, taken); err != nil || to == nil {
		return errors.Join(err, errors.New("there is no checkpoint of "+call))
	}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(now))) { // the content of a directory goes before the directory
		if old, stays := to[name]; !stays || old.Mode.Type() != now[name].Mode.Type() || old.Target != now[name].Target {
			err = errors.Join(err, e.Remove(ctx, name))
			delete(now, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		_, there := now[name]
		err = errors.Join(err, c.restoreFile(ctx, e, name, to[name], there && now[name].Blob == to[name].Blob))
	}
	return errors.Join(err, s.Note(ctx, checkpointNote, json.RawMessage(mustJSON(checkpoint{Undone: call})), "The user has taken back what was changed since "+call+"."))
}

// The results of calls have their changes, also the changes of commands. They can be undone after a resume.
func TestJ_Checkpoint(t *testing.T) {
	mess := `rm -r src; mkdir -m 700 src new; ln -s new link; echo other >a.txt; chmod 755 run.sh`
	h := newHost(t, env.LocalOptions{}, llmtest.Calls(save("made.txt", "new\n")), llmtest.Calls(shell(mess)), llmtest.Calls(save("a.txt", "not read")),
		llmtest.Text("done"), llmtest.Text("I see"))
	write(t, h.dir, "a.txt", "a\n")
	write(t, h.dir, "run.sh", "exit\n")
	write(t, h.dir, "src/deep/b.txt", "b\n")
	o := h.options(t, "kept")
	c := &checkpoints{log: o.Journal}
	before, err := c.snapshot(t.Context(), h.env)
	if err != nil {
		t.Fatal(err)
	}
	o.Middleware = []tool.Middleware{c.keep}
	s := h.start(t, o)
	submit(t, s, "make a mess", agent.ReasonCompleted)
	ends := h.callEnds()
	var told []string
	for _, change := range append(ends[0].Changes, ends[1].Changes...) {
		told = append(told, string(change.Kind)+" "+path.Base(change.Path))
	}
	if got := strings.Join(told, ", "); got != "created made.txt, modified a.txt, deleted b.txt" {
		t.Errorf("the results tell of %s", got)
	}
	if !ends[2].IsError {
		t.Error("a file was replaced that a command had changed and the session had not seen since")
	}
	first := ends[0].CallID
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	o = h.options(t, "kept")
	c = &checkpoints{log: o.Journal}
	s = h.start(t, o)
	if err := c.undo(t.Context(), s, h.env, first); err != nil {
		t.Fatal(err)
	}
	after, err := c.snapshot(t.Context(), h.env)
	if err != nil || !maps.EqualFunc(before, after, func(a, b treeEntry) bool { return a.Mode == b.Mode && a.Target == b.Target && a.Blob == b.Blob }) {
		t.Errorf("the tree is another one: %v\nbefore %s\nafter  %s", err, mustJSON(before), mustJSON(after))
	}
	submit(t, s, "and now?", agent.ReasonCompleted)
	if heard := mustJSON(h.model.Requests()[4].Messages); !strings.Contains(heard, "has taken back what was changed since "+first) {
		t.Errorf("the model heard %s", heard)
	}
}
