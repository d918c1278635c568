package coding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/tool"
)

// historySession is a session in which a compaction has replaced some turns.
type historySession struct {
	tool.Plain
	turns  []tool.Turn
	broken error
}

func (p *historySession) History() tool.History { return p }

func (p *historySession) Turns(_ context.Context, first, last int) iter.Seq2[tool.Turn, error] {
	return func(yield func(tool.Turn, error) bool) {
		if p.broken != nil {
			yield(tool.Turn{}, p.broken)
			return
		}
		for _, t := range p.turns {
			if t.Number >= first && t.Number <= last && !yield(t, nil) {
				return
			}
		}
	}
}

// Paging through turns returns every line exactly once.
func TestI12_PagesOfTurns(t *testing.T) {
	b := inSession{fixture: newFixture(t)}
	long := strings.Repeat("ä0123456789", 900) // a line of 10,800 bytes
	p := &historySession{turns: []tool.Turn{{Number: 2, Kind: "user", Text: long + "\nend\n"},
		{Number: 3, Kind: "assistant", Text: "short\n"},
		{Number: 5, Kind: "tool_results", Text: strings.Repeat("a line of output\n", 4_000)}}}
	b.session = p
	want := long + "end" + "short" + strings.Repeat("a line of output", 4_000)
	var got strings.Builder
	pages, offset := 0, 1
	for offset > 0 {
		if pages++; pages > 20 {
			t.Fatal("it does not end")
		}
		page := b.ok(ReadOutput(), object{"turns": "1-", "offset": offset, "limit": 2_000})
		if len(page) > 30_000 {
			t.Errorf("page %d has %d bytes", pages, len(page))
		}
		offset = 0
		for line := range strings.Lines(page) {
			switch _, text, found := strings.Cut(line, " | "); {
			case found:
				got.WriteString(strings.TrimSuffix(text, "\n"))
			case strings.HasPrefix(line, "[There is more"):
				if _, err := fmt.Sscanf(line, "[There is more; go on with the same turns and offset %d.]",
					&offset); err != nil {
					t.Fatal(err)
				}
			case !strings.HasPrefix(line, "[turn "):
				t.Errorf("line %q", line)
			}
		}
	}
	if got.String() != want {
		t.Errorf("%d pages have %d bytes, want %d", pages, got.Len(), len(want))
	}
	if text := b.ok(ReadOutput(),
		object{"pattern": "^(end|short)$"}); text != "[turn 2, user]\n  7 | end\n[turn 3, assistant]\n  8 | short\n" {
		t.Errorf("found %q", text)
	}
	if text := b.ok(ReadOutput(), object{"turns": 3, "offset": 9}); !strings.Contains(text, "only 1 lines") {
		t.Errorf("past the end: %q", text)
	}
}

func TestI12_TurnsThatCannotBeRead(t *testing.T) {
	b := inSession{fixture: newFixture(t)}
	p := &historySession{turns: []tool.Turn{{Number: 2, Kind: "user", Text: "x\n"}}}
	b.session = p
	for _, turns := range []string{"x", "0", "-3", "5-3", "1-2-3", "1.5"} {
		b.fails(ReadOutput(), object{"turns": turns}, "give the number of a turn")
	}
	b.fails(ReadOutput(), object{"turns": "3-9"}, "still in the conversation")
	b.fails(ReadOutput(), object{"turns": "2", "id": "x"}, "not both")
	b.fails(ReadOutput(), object{}, "give the id")
	b.fails(ReadOutput(), object{"turns": "2", "pattern": "("}, "regular expression")
	p.broken = errors.New("the disk is gone")
	b.fails(ReadOutput(), object{"turns": "2"}, "the disk is gone")
	b.session = &tool.Plain{}
	b.fails(ReadOutput(), object{"turns": "2"}, "keeps no turns")
}

// The plan is stored in the common form, without empty fields.
func TestI12_ThePlanIsANote(t *testing.T) {
	b := inSession{fixture: newFixture(t)}
	n := &notes{}
	b.session = n
	b.ok(UpdatePlan(), object{"plan": []object{{"step": "a <&>", "status": "pending", "colour": "red"}}})
	if n.kept != `plan {"plan":[{"step":"a <&>","status":"pending"}]}` {
		t.Errorf("kept %s", n.kept)
	}
	b.fails(UpdatePlan(), object{"plan": []object{{"step": strings.Repeat("x", 10_000), "status": "pending"}}},
		"few words")
	n.broken = errors.New("the journal is full")
	b.fails(UpdatePlan(), object{"plan": []object{{"step": "a", "status": "pending"}}}, "the journal is full")
}

type notes struct {
	tool.Plain
	kept   string
	broken error
}

func (n *notes) Note(_ context.Context, kind string, data json.RawMessage, _ string) error {
	n.kept = kind + " " + string(data)
	return n.broken
}

// inSession holds a fixture whose calls are made in a session.
type inSession struct {
	*fixture
	session tool.Session
}

func (w *inSession) ok(t tool.Tool, args object) string {
	w.Helper()
	o := w.runCall(context.Background(), t, args, tool.Call{Session: w.session})
	if o.IsError {
		w.Errorf("%v failed: %s", args, o.Model.Text())
	}
	return o.Model.Text()
}

func (w *inSession) fails(t tool.Tool, args object, want string) {
	w.Helper()
	o := w.runCall(context.Background(), t, args, tool.Call{Session: w.session})
	if text := o.Model.Text(); !o.IsError || !strings.Contains(text, want) {
		w.Errorf("%v: %q, want an error with %q", args, text, want)
	}
}
