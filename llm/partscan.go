package llm

import "github.com/attractor-go/attractor/internal/jsonscan"

// scanParts decodes parts in the form that MarshalJSON writes. Ok is false for any other form, which encoding/json may be able to decode.
func scanParts(data []byte) (parts Parts, ok bool) {
	s := jsonscan.New(data)
	parts = scanAll(&s)
	return parts, s.End()
}

// scanAll reads an array of parts. The texts of the parts share no memory with the data.
func scanAll(s *jsonscan.Scanner) Parts {
	parts := Parts{}
	for s.OpenArray(); s.Next(); {
		s.Open()
		part := scanPart(s)
		if s.Close(); part == nil {
			s.Fail()
		}
		parts = append(parts, part)
	}
	return parts
}

// scanPart reads a part after its opening brace, or nothing if it is of another kind.
func scanPart(s *jsonscan.Scanner) Part {
	switch {
	case s.Field(kindText):
		return scanText(s)
	case s.Field(kindToolCall):
		return scanToolCall(s)
	case s.Field(kindToolResult):
		return scanToolResult(s)
	case s.Field(kindToolReference):
		var r ToolReference
		s.Decode(&r)
		return r
	case s.Field(kindThinking):
		return scanThinking(s)
	case s.Field(kindMedia):
		var m Media
		s.Decode(&m)
		return m
	case s.Field(kindOpaque):
		var o Opaque
		s.Decode(&o)
		return o
	}
	return nil
}

func scanText(s *jsonscan.Scanner) (t Text) {
	s.Open()
	jsonscan.StringField(s, "text", &t.Text)
	jsonscan.StringField(s, "signature", &t.Signature)
	s.Close()
	return t
}

func scanThinking(s *jsonscan.Scanner) (t Thinking) {
	s.Open()
	jsonscan.StringField(s, "text", &t.Text)
	jsonscan.StringField(s, "signature", &t.Signature)
	s.BoolField("redacted", &t.Redacted)
	jsonscan.StringField(s, "id", &t.ID)
	s.Close()
	return t
}

func scanToolCall(s *jsonscan.Scanner) (c ToolCall) {
	s.Open()
	jsonscan.StringField(s, "id", &c.ID)
	jsonscan.StringField(s, "name", &c.Name)
	jsonscan.StringField(s, "args", &c.Args)
	s.BoolField("free", &c.Free)
	jsonscan.StringField(s, "signature", &c.Signature)
	s.Close()
	return c
}

func scanToolResult(s *jsonscan.Scanner) (r ToolResult) {
	s.Open()
	jsonscan.StringField(s, "call_id", &r.CallID)
	jsonscan.StringField(s, "name", &r.Name)
	if s.Field("content") {
		r.Content = scanAll(s)
	}
	s.BoolField("is_error", &r.IsError)
	s.BoolField("free", &r.Free)
	s.Close()
	return r
}
