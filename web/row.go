package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/tool"
)

const (
	// maxRowText limits the text of a row, in bytes.
	maxRowText = 240
	// maxText limits the other texts that the page gets without asking for them, in bytes.
	maxText = 4 << 10
	// maxRowPaths limits the paths of a row.
	maxRowPaths = 20
)

// rowOf returns the row of an event without its number, times and step. The row has no kind if the
// event has no row. These are the beginning of a model call or of a text, and pieces of texts,
// since the whole texts have rows; the beginning of a call, which has a row when it has ended; and
// the end of a model call, which is in the steps of the overview.
func rowOf(ev agent.Event) Row {
	switch e := ev.(type) {
	case *agent.SessionStart:
		return Row{Kind: RowStart, Name: e.Model, Text: line(startText(e))}
	case *agent.SessionEnd:
		return Row{Kind: RowClose, Name: string(e.Reason), Text: string(e.Reason),
			Failed: e.Reason == agent.ReasonFailed}
	case *agent.HistoryLoaded:
		return Row{Kind: RowHistory, Text: texts.Count(len(e.Messages), "message")}
	case *agent.UserInput:
		return text(Row{Kind: RowInput, Name: string(e.Action)}, e.Text)
	case *agent.ProcessingEnd:
		return Row{Kind: RowEnd, Name: string(e.Reason), Text: endText(e), Failed: e.Reason == agent.ReasonFailed,
			Cost: e.CostUSD}
	case *agent.AssistantTextEnd:
		return text(Row{Kind: RowText, Failed: e.Discarded}, e.Text)
	case *agent.ThinkingDelta:
		return text(Row{Kind: RowThinking}, e.Text)
	case *agent.WebSearch:
		return Row{Kind: RowSearch, Text: line(e.WebSearch.String()), Failed: e.Error != ""}
	case *agent.ToolCallEnd:
		return Row{Kind: RowCall, Name: e.Name, MS: e.DurationMS, Bytes: e.OutputBytes, Failed: e.IsError ||
			e.Ran != nil && e.Ran.Failed()}
	case *agent.SteeringInjected:
		return text(Row{Kind: RowSteering, Name: e.Source}, e.Text)
	case *agent.InputRequested:
		return text(Row{Kind: RowQuestion, Name: e.Source}, e.Question)
	case *agent.NoteWritten:
		return Row{Kind: RowNote, Name: e.Note, Text: line(noteText(e))}
	case *agent.PlanUpdated:
		return Row{Kind: RowPlan, Text: line(planText(e))}
	}
	return incident(ev)
}

// incident returns the row of an event about a problem or a limit.
func incident(ev agent.Event) Row {
	switch e := ev.(type) {
	case *agent.TurnLimit:
		return Row{Kind: RowLimit, Name: string(e.Limit), Text: fmt.Sprintf("%s: %v", e.Limit, e.Value)}
	case *agent.LoopDetection:
		return Row{Kind: RowLoop, Text: fmt.Sprintf("%s repeated %d times", texts.Count(e.Period, "call"), e.Repeats)}
	case *agent.ContextWarning:
		return Row{Kind: RowContext, Text: windowText(e)}
	case *agent.Compaction:
		return Row{Kind: RowCompaction, Text: compactionText(e)}
	case *agent.Warning:
		return text(Row{Kind: RowWarning, Name: e.Code}, e.Text)
	case *agent.Error:
		return text(Row{Kind: RowError, Name: e.ErrorKind, Failed: true}, e.Text)
	case *agent.LLMRetry:
		return text(Row{Kind: RowRetry, Name: e.ErrorKind, MS: e.DelayMS}, e.Text)
	case *agent.ModelChanged:
		return Row{Kind: RowModel, Name: e.To.String(), Text: line(fmt.Sprintf("%s instead of %s", e.To, e.From))}
	}
	return Row{}
}

// text fills a row with the first line of a text, and its size.
func text(r Row, text string) Row {
	r.Text, r.Bytes = line(text), int64(len(text))
	return r
}

// noteText returns the text of a note or, without one, its data if it is neither an object nor an
// array.
func noteText(e *agent.NoteWritten) string {
	if e.Text != "" || bytes.IndexAny(bytes.TrimSpace(e.Data), "{[") == 0 {
		return e.Text
	}
	return string(e.Data)
}

// line returns the first line of a text that is not blank, of at most maxRowText bytes. It ends
// with an ellipsis if something is missing.
func line(text string) string {
	text = strings.TrimSpace(text)
	first, rest, _ := strings.Cut(text, "\n")
	first = strings.TrimRight(first, " \t\r")
	if len(first) <= maxRowText {
		if rest != "" && len(first) <= maxRowText-len(" …") {
			return first + " …"
		}
		return strings.Clone(first)
	}
	return cut(first, maxRowText)
}

// cut returns at most most bytes of a text. It ends with an ellipsis if something is missing.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return texts.Cut(text, most-len("…"), "…")
}

func startText(e *agent.SessionStart) string {
	verb := "began"
	if e.Resumed {
		verb = "resumed"
	}
	return fmt.Sprintf("%s with %s/%s in %s", verb, e.Provider, e.Model, e.Dir)
}

func endText(e *agent.ProcessingEnd) string {
	return string(e.Reason) + " after " + texts.Count(e.Turns, "answer")
}

func planText(e *agent.PlanUpdated) string {
	done, now := 0, ""
	for _, item := range e.Items {
		switch item.Status {
		case tool.PlanCompleted:
			done++
		case tool.PlanInProgress:
			now = ": " + item.Text
		}
	}
	return fmt.Sprintf("%d of %d done%s", done, len(e.Items), now)
}

func windowText(e *agent.ContextWarning) string {
	if e.Window == 0 {
		return "the request is too long for the model's window"
	}
	return fmt.Sprintf("%d of %d tokens, %.0f %% of the window", e.Tokens, e.Window, 100*e.Ratio)
}

func compactionText(e *agent.Compaction) string {
	return fmt.Sprintf("%s became a summary: %d tokens, before %d", texts.Count(e.TurnsReplaced, "turn"), e.TokensAfter,
		e.TokensBefore)
}

// callKeys returns names of arguments that say what a call does, the most telling first.
func callKeys() []string {
	return []string{"command", "cmd", "file_path", "absolute_path", "path", "pattern", "query", "url", "question",
		"task", "description", "explanation", "prompt", "message", "agent_id", "id"}
}

// callText returns a line that says what a call with these arguments does.
func callText(args json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(args, &fields) != nil {
		return line(string(args))
	}
	for _, key := range callKeys() {
		switch value := fields[key].(type) {
		case string:
			if strings.TrimSpace(value) != "" {
				return line(value)
			}
		case []any:
			if words := fmt.Sprint(value...); words != "" {
				return line(strings.Trim(fmt.Sprint(value), "[]"))
			}
		}
	}
	if patch, ok := fields["patch"].(string); ok {
		return line(patchText(patch))
	}
	if plan, ok := fields["plan"].([]any); ok {
		return texts.Count(len(plan), "item")
	}
	for text := range stringsOf(args) {
		return line(text)
	}
	if len(fields) == 0 {
		return ""
	}
	return line(string(args))
}

// patchText returns the files that a patch in the form of apply_patch names, or the patch if it
// names none.
func patchText(patch string) string {
	var files []string
	for text := range strings.Lines(patch) {
		if verb, file, ok := strings.Cut(strings.TrimSpace(text), " File: "); ok && strings.HasPrefix(verb, "*** ") {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return patch
	}
	return strings.Join(files, ", ")
}

// arguments returns the arguments of a call as JSON.
func arguments(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	raw, err := json.Marshal(text)
	if err != nil { // cannot happen with a string
		return json.RawMessage("null")
	}
	return raw
}

// stringsOf yields the strings in a JSON value, in order, without the names of members.
func stringsOf(value json.RawMessage) iter.Seq[string] {
	return func(yield func(string) bool) { nextStrings(json.NewDecoder(bytes.NewReader(value)), yield) }
}

// nextStrings yields the strings in the next value. It reports whether more may follow.
func nextStrings(d *json.Decoder, yield func(string) bool) bool {
	token, err := d.Token()
	if text, ok := token.(string); ok {
		return yield(text)
	}
	isObject := token == json.Delim('{')
	if !isObject && token != json.Delim('[') {
		return err == nil
	}
	for d.More() {
		if isObject {
			if _, err := d.Token(); err != nil { // the name
				return false
			}
		}
		if !nextStrings(d, yield) {
			return false
		}
	}
	_, err = d.Token() // the end
	return err == nil
}

// changes fills a row with what a call has changed. Paths in the directory of the session are
// relative to it.
func changes(r *Row, e *agent.ToolCallEnd, dir string) {
	for _, c := range e.Changes {
		added, removed := texts.ChangedLines(c.Diff)
		r.Added, r.Removed = r.Added+added, r.Removed+removed
		if len(r.Paths) < maxRowPaths {
			r.Paths = append(r.Paths, relative(c.Path, dir))
		}
	}
	if r.Text == "" && len(r.Paths) > 0 {
		r.Text = line(strings.Join(r.Paths, ", "))
	}
}

// relative returns a path relative to a directory, or the path itself if it is not below that. The
// paths may be those of another operating system.
func relative(path, dir string) string {
	below, ok := strings.CutPrefix(path, dir)
	if !ok || dir == "" {
		return path
	}
	if name := strings.TrimLeft(below, `/\`); name != "" && (len(name) < len(below) || strings.HasSuffix(dir, "/")) {
		return name
	}
	return path
}
