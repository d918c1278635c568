package agent

import (
	"strconv"

	"github.com/attractor-go/attractor/internal/jsonscan"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// writeRecord appends the JSON of a record as encoding/json writes it, if the record is of one of the kinds that every round has. Ok is false
// for any other record, and for one with long texts or with values that encoding/json has to write or to refuse.
func writeRecord(b []byte, rec record) (_ []byte, ok bool) {
	w := writer{b: append(b, '{')}
	switch r := rec.(type) {
	case answerRecord:
		w.answer(&r)
	case intentRecord:
		w.intent(&r)
	case resultRecord:
		w.result(&r)
	default:
		return nil, false
	}
	return append(w.b, '}'), !w.bad
}

// A writer appends the members of objects to a text.
type writer struct {
	b   []byte
	bad bool // something cannot be written
}

// next begins an object's member or an array's element, which follows others or not.
func (w *writer) next() {
	if last := w.b[len(w.b)-1]; last != '{' && last != '[' {
		w.b = append(w.b, ',')
	}
}

func (w *writer) name(name string) {
	w.next()
	w.b = append(append(append(w.b, '"'), name...), `":`...)
}

func (w *writer) string(text string) {
	if len(text) > mostEncoding {
		w.bad = true
		return
	}
	w.b = jsonscan.AppendString(w.b, text)
}

func (w *writer) text(name, text string) {
	w.name(name)
	w.string(text)
}

func (w *writer) number(name string, n int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

// textOr0 writes a member unless it is empty.
func (w *writer) textOr0(name, text string) {
	if text != "" {
		w.text(name, text)
	}
}

// numberOr0 writes a member unless it is 0.
func (w *writer) numberOr0(name string, n int64) {
	if n != 0 {
		w.number(name, n)
	}
}

// flag writes a member if it is true.
func (w *writer) flag(name string, on bool) {
	if on {
		w.name(name)
		w.b = append(w.b, "true"...)
	}
}

// texts writes a list unless it is empty.
func (w *writer) texts(name string, texts []string) {
	if len(texts) == 0 {
		return
	}
	w.name(name)
	w.b = append(w.b, '[')
	for _, text := range texts {
		w.next()
		w.string(text)
	}
	w.b = append(w.b, ']')
}

// object writes a member that is an object.
func (w *writer) object(name string, members func()) {
	w.name(name)
	w.b = append(w.b, '{')
	members()
	w.b = append(w.b, '}')
}

func (w *writer) answer(r *answerRecord) {
	w.bad = r.Epoch != nil || r.Cost != 0 || r.Shown.Thoughts != nil
	w.object("message", func() {
		w.text("role", string(r.Message.Role))
		w.parts("parts", r.Message.Parts)
		w.textOr0("provider", r.Message.Provider)
		w.textOr0("model", r.Message.Model)
	})
	w.object("usage", func() {
		w.number("input", int64(r.Usage.Input))
		w.numberOr0("cache_read", int64(r.Usage.CacheRead))
		w.numberOr0("cache_write", int64(r.Usage.CacheWrite))
		w.number("output", int64(r.Usage.Output))
		w.numberOr0("reasoning", int64(r.Usage.Reasoning))
	})
	w.object("finish", func() {
		w.text("reason", string(r.Finish.Reason))
		w.textOr0("raw", r.Finish.Raw)
	})
	w.textOr0("response_id", r.ResponseID)
	w.number("latency", int64(r.Latency))
	if r.Shown.Step != 0 || r.Shown.Texts != nil {
		w.object("shown", func() { w.shown(r.Shown) })
	}
}

func (w *writer) shown(s shown) {
	w.numberOr0("step", s.Step)
	if len(s.Texts) == 0 {
		return
	}
	w.name("texts")
	w.b = append(w.b, '[')
	for _, pair := range s.Texts {
		w.next()
		w.b = strconv.AppendInt(append(w.b, '['), pair[0], 10)
		w.b = strconv.AppendInt(append(w.b, ','), pair[1], 10)
		w.b = append(w.b, ']')
	}
	w.b = append(w.b, ']')
}

func (w *writer) intent(r *intentRecord) {
	w.bad = r.Calls == nil
	w.name("calls")
	w.b = append(w.b, '[')
	for _, c := range r.Calls {
		w.next()
		w.b = append(w.b, '{')
		w.call(c)
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
}

func (w *writer) call(c llm.ToolCall) {
	w.text("id", c.ID)
	w.text("name", c.Name)
	w.text("args", c.Args)
	w.flag("free", c.Free)
	w.textOr0("signature", c.Signature)
}

func (w *writer) result(r *resultRecord) {
	w.bad = r.Kept != nil || r.Answers != nil || r.Seen != nil || r.Changes != nil || r.Ran != nil || r.Structured != nil
	w.text("call_id", r.CallID)
	w.text("name", r.Name)
	w.textOr0("args", r.Args)
	if r.Access != nil {
		w.object("access", func() { w.access(r.Access) })
	}
	w.parts("content", r.Content)
	w.flag("is_error", r.IsError)
	w.flag("done", r.Done)
	w.textOr0("final", r.Final)
	w.textOr0("output_ref", r.OutputRef)
	w.textOr0("asked", r.Asked)
	w.number("bytes", r.Bytes)
	w.flag("truncated", r.Truncated)
	w.number("duration", int64(r.Duration))
	w.numberOr0("start", r.Start)
}

func (w *writer) access(a *tool.Access) {
	effect, err := a.Effect.MarshalText()
	w.bad = w.bad || err != nil || a.Guarded != nil
	w.text("effect", string(effect))
	w.texts("paths", a.Paths)
	w.textOr0("command", a.Command)
	w.texts("hosts", a.Hosts)
}

// parts writes texts and tool calls.
func (w *writer) parts(name string, parts llm.Parts) {
	w.bad = w.bad || parts == nil
	w.name(name)
	w.b = append(w.b, '[')
	for _, part := range parts {
		w.next()
		w.b = append(w.b, '{')
		switch p := part.(type) {
		case llm.Text:
			w.object("text", func() {
				w.text("text", p.Text)
				w.textOr0("signature", p.Signature)
			})
		case llm.ToolCall:
			w.object("tool_call", func() { w.call(p) })
		default:
			w.bad = true
		}
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
}
