package agent

import (
	"github.com/attractor-go/attractor/internal/jsonscan"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// scanRecord decodes a record's body in the form that encodeRecord writes, if it is of one of the kinds that every round has. Ok is false
// for any other body, which encoding/json may be able to decode.
func scanRecord(kind string, body []byte) (rec record, at place, ok bool) {
	s := jsonscan.New(body)
	s.Open()
	at = scanPlace(&s)
	switch kind {
	case answerRecord{}.kind():
		rec = scanAnswer(&s)
	case intentRecord{}.kind():
		rec = scanIntent(&s)
	case resultRecord{}.kind():
		rec = scanResult(&s)
	default:
		return nil, place{}, false
	}
	s.Close()
	return rec, at, s.End()
}

// scanPlace reads the members of a place at the beginning of a body.
func scanPlace(s *jsonscan.Scanner) (at place) {
	jsonscan.IntField(s, "seq", &at.Seq)
	jsonscan.IntField(s, "resumed", &at.Resumed)
	return at
}

func scanAnswer(s *jsonscan.Scanner) (r answerRecord) {
	s.DecodeField("epoch", &r.Epoch)
	if s.Field("message") {
		r.Message = scanMessage(s)
	}
	if s.Field("usage") {
		r.Usage = scanUsage(s)
	}
	if s.Field("finish") {
		s.Open()
		jsonscan.StringField(s, "reason", &r.Finish.Reason)
		jsonscan.StringField(s, "raw", &r.Finish.Raw)
		s.Close()
	}
	jsonscan.StringField(s, "response_id", &r.ResponseID)
	jsonscan.IntField(s, "latency", &r.Latency)
	if s.Field("cost_usd") {
		r.Cost = s.Float64()
	}
	if s.Field("shown") {
		r.Shown = scanShown(s)
	}
	return r
}

func scanMessage(s *jsonscan.Scanner) (m llm.Message) {
	s.Open()
	jsonscan.StringField(s, "role", &m.Role)
	s.DecodeField("parts", &m.Parts)
	jsonscan.StringField(s, "provider", &m.Provider)
	jsonscan.StringField(s, "model", &m.Model)
	s.Close()
	return m
}

func scanUsage(s *jsonscan.Scanner) (u llm.Usage) {
	s.Open()
	jsonscan.IntField(s, "input", &u.Input)
	jsonscan.IntField(s, "cache_read", &u.CacheRead)
	jsonscan.IntField(s, "cache_write", &u.CacheWrite)
	jsonscan.IntField(s, "output", &u.Output)
	jsonscan.IntField(s, "reasoning", &u.Reasoning)
	s.Close()
	return u
}

func scanShown(s *jsonscan.Scanner) (seen shown) {
	s.Open()
	jsonscan.IntField(s, "step", &seen.Step)
	s.DecodeField("thoughts", &seen.Thoughts)
	if s.Field("texts") {
		seen.Texts = [][2]int64{}
		for s.OpenArray(); s.Next(); {
			seen.Texts = append(seen.Texts, scanPair(s))
		}
	}
	s.Close()
	return seen
}

// scanPair reads an array of two numbers.
func scanPair(s *jsonscan.Scanner) (pair [2]int64) {
	n := 0
	for s.OpenArray(); s.Next(); n++ {
		if n == len(pair) {
			s.Fail()
			break
		}
		pair[n] = s.Int64()
	}
	if n != len(pair) {
		s.Fail()
	}
	return pair
}

func scanIntent(s *jsonscan.Scanner) (r intentRecord) {
	if s.Field("calls") {
		r.Calls = []llm.ToolCall{}
		for s.OpenArray(); s.Next(); {
			r.Calls = append(r.Calls, scanCall(s))
		}
	}
	return r
}

func scanCall(s *jsonscan.Scanner) (c llm.ToolCall) {
	s.Open()
	jsonscan.StringField(s, "id", &c.ID)
	jsonscan.StringField(s, "name", &c.Name)
	jsonscan.StringField(s, "args", &c.Args)
	s.BoolField("free", &c.Free)
	jsonscan.StringField(s, "signature", &c.Signature)
	s.Close()
	return c
}

func scanResult(s *jsonscan.Scanner) (r resultRecord) {
	jsonscan.StringField(s, "call_id", &r.CallID)
	jsonscan.StringField(s, "name", &r.Name)
	jsonscan.StringField(s, "args", &r.Args)
	if s.Field("access") {
		r.Access = scanAccess(s)
	}
	s.DecodeField("content", &r.Content)
	s.BoolField("is_error", &r.IsError)
	s.BoolField("done", &r.Done)
	jsonscan.StringField(s, "final", &r.Final)
	jsonscan.StringField(s, "output_ref", &r.OutputRef)
	s.DecodeField("kept", &r.Kept)
	jsonscan.StringField(s, "asked", &r.Asked)
	s.DecodeField("answers", &r.Answers)
	jsonscan.IntField(s, "bytes", &r.Bytes)
	s.BoolField("truncated", &r.Truncated)
	s.DecodeField("seen", &r.Seen)
	jsonscan.IntField(s, "duration", &r.Duration)
	jsonscan.IntField(s, "start", &r.Start)
	s.DecodeField("changes", &r.Changes)
	s.DecodeField("ran", &r.Ran)
	s.DecodeField("structured", &r.Structured)
	return r
}

func scanAccess(s *jsonscan.Scanner) *tool.Access {
	a := new(tool.Access)
	s.Open()
	if s.Field("effect") && a.Effect.UnmarshalText([]byte(s.String())) != nil {
		s.Fail()
	}
	a.Paths = scanTexts(s, "paths")
	jsonscan.StringField(s, "command", &a.Command)
	a.Hosts = scanTexts(s, "hosts")
	s.DecodeField("guarded", &a.Guarded)
	s.Close()
	return a
}

// scanTexts reads the object's next member, a list of strings, if it has this name.
func scanTexts(s *jsonscan.Scanner, name string) []string {
	if !s.Field(name) {
		return nil
	}
	texts := []string{}
	for s.OpenArray(); s.Next(); {
		texts = append(texts, s.String())
	}
	return texts
}
