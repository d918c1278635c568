package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// An archive keeps the turns that compactions have replaced, in the session's output store. It
// implements [tool.History]. Turns that were replaced in an earlier run are in the journal, and are
// copied into the store when they are first asked for.
type archive struct {
	outputs tool.Outputs

	recalling sync.Mutex // held while the journal is read, which may not return; taken before mu
	earlier   func(ctx context.Context, replaced func([]Turn) error) error

	mu   sync.Mutex
	kept []archived // in the order of their numbers
}

// archived locates the text of a turn.
type archived struct {
	number   int
	kind     TurnKind
	output   string
	at, size int64
}

// write writes turns to the store and returns where, for add. It leaves out the turn of an earlier
// compaction, since the turns that it replaced are there already.
func (a *archive) write(turns []Turn) (written []archived, err error) {
	id, w, err := a.outputs.Create("turns")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	at := int64(0)
	for _, t := range turns {
		if t.Kind == TurnCompaction {
			continue
		}
		text := turnText(t)
		if _, err := io.WriteString(w, text); err != nil {
			return nil, err
		}
		written = append(written, archived{number: t.Number, kind: t.Kind, output: id, at: at, size: int64(len(text))})
		at += int64(len(text))
	}
	return written, nil
}

// add adds written turns to the archive.
func (a *archive) add(written []archived) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = append(a.kept, written...)
}

// recall copies the turns that were replaced in an earlier run into the store, once.
func (a *archive) recall(ctx context.Context) error {
	a.recalling.Lock()
	defer a.recalling.Unlock()
	if a.earlier == nil {
		return nil
	}
	var before []archived
	err := a.earlier(ctx, func(turns []Turn) error {
		written, err := a.write(turns)
		before = append(before, written...)
		return err
	})
	if err != nil {
		return fmt.Errorf("the earlier turns cannot be read from the journal: %w", err)
	}
	a.earlier = nil
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = append(before, a.kept...)
	return nil
}

// Turns implements [tool.History].
func (a *archive) Turns(ctx context.Context, first, last int) iter.Seq2[tool.Turn, error] {
	return func(yield func(tool.Turn, error) bool) {
		if err := a.recall(ctx); err != nil {
			yield(tool.Turn{}, err)
			return
		}
		a.mu.Lock()
		kept := a.kept
		a.mu.Unlock()
		from := sort.Search(len(kept), func(i int) bool { return kept[i].number >= first })
		for _, k := range kept[from:] {
			if k.number > last {
				return
			}
			text, err := a.text(k)
			if !yield(tool.Turn{Number: k.number, Kind: string(k.kind), Text: text}, err) || err != nil {
				return
			}
		}
	}
}

// text returns the text of a turn.
func (a *archive) text(k archived) (string, error) {
	r, err := a.outputs.Open(k.output)
	if err != nil {
		return "", err
	}
	text := make([]byte, k.size)
	_, err = r.Seek(k.at, io.SeekStart)
	if err == nil {
		_, err = io.ReadFull(r, text)
	}
	return string(text), errors.Join(err, r.Close())
}

// turnText returns a turn as text, without the parts that only a provider reads.
func turnText(t Turn) string {
	var b strings.Builder
	for _, part := range t.Message.Parts {
		switch p := part.(type) {
		case llm.Text:
			b.WriteString(p.Text + cited(p.Sources))
		case llm.Opaque:
			if p.Search == nil {
				continue
			}
			fmt.Fprintf(&b, "[%s]", p.Search)
		case llm.ToolCall:
			fmt.Fprintf(&b, "[call %s] %s", p.Name, p.Args)
		case llm.ToolResult:
			fmt.Fprintf(&b, "[result of %s] %s", p.Name, p.Content.Text())
		case llm.Media:
			fmt.Fprintf(&b, "[%s]", p.MIME)
		default:
			continue
		}
		b.WriteString("\n")
	}
	return b.String()
}

// cited returns a line for each page on the web that a text cites.
func cited(list []llm.Source) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString("\n[source] " + s.String())
	}
	return b.String()
}

// replacedBefore returns a function that passes on the turns that compactions have replaced within
// a journal's first records.
func replacedBefore(from Records, records int64) func(context.Context, func([]Turn) error) error {
	return func(ctx context.Context, replaced func([]Turn) error) error {
		var state State
		for line, err := range from.Records(ctx, 1) {
			if err != nil {
				return err
			}
			turns, compacted := state.Turns, state.compacted
			if err := state.Fold(line); err != nil {
				return err
			}
			if state.compacted > compacted {
				stay := len(state.Turns) - 1
				if err := replaced(slices.Clone(turns[:len(turns)-stay])); err != nil {
					return err
				}
			}
			if state.Records == records {
				return nil
			}
		}
		return nil
	}
}
