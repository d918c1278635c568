package gemini

import "github.com/attractor-go/attractor/llm/internal/api"

// textChunk is a chunk with a piece of text or thinking and nothing else of importance.
type textChunk struct {
	text      string
	thought   bool
	usage     wireUsage
	model, id []byte // valid as long as the chunk
}

// scanChunk decodes the chunks that come by the thousand. It returns false for every other chunk and for JSON that it does not
// expect.
func scanChunk(data []byte) (c textChunk, ok bool) {
	s := api.Scan(data)
	seen := members(&s, func(key []byte) uint {
		switch string(key) {
		case "candidates":
			s.Want('[')
			scanCandidate(&s, &c)
			s.Want(']')
			return 1
		case "usageMetadata":
			scanUsage(&s, &c.usage)
			return 2
		case "modelVersion":
			c.model = s.Word()
			return 4
		case "responseId":
			c.id = s.Word()
			return 8
		case "createTime":
			s.Word()
			return 16
		}
		return 0
	})
	s.End()
	return c, s.OK() && seen&1 != 0
}

// members reads an object. value reads a member's value and returns its bit, or 0 for an unknown member. An unknown member or a
// duplicate makes the scanner bad. members returns all bits together.
func members(s *api.Scanner, value func(key []byte) uint) (seen uint) {
	s.Want('{')
	for s.OK() {
		key := s.Word()
		s.Want(':')
		bit := value(key)
		if bit == 0 || seen&bit != 0 {
			s.Reject()
		}
		seen |= bit
		if !s.Is(',') {
			s.Want('}')
			return seen
		}
	}
	return seen
}

func scanCandidate(s *api.Scanner, c *textChunk) {
	seen := members(s, func(key []byte) uint {
		switch string(key) {
		case "content":
			scanContent(s, c)
			return 1
		case "index":
			if s.Int() != 0 {
				s.Reject()
			}
			return 2
		}
		return 0
	})
	if seen&1 == 0 {
		s.Reject()
	}
}

func scanContent(s *api.Scanner, c *textChunk) {
	seen := members(s, func(key []byte) uint {
		switch string(key) {
		case "parts":
			s.Want('[')
			scanPart(s, c)
			s.Want(']')
			return 1
		case "role":
			s.Word()
			return 2
		}
		return 0
	})
	if seen&1 == 0 {
		s.Reject()
	}
}

func scanPart(s *api.Scanner, c *textChunk) {
	seen := members(s, func(key []byte) uint {
		switch string(key) {
		case "text":
			c.text = s.Text()
			return 1
		case "thought":
			c.thought = s.True()
			if !c.thought {
				s.Reject()
			}
			return 2
		}
		return 0
	})
	if seen&1 == 0 {
		s.Reject()
	}
}

func scanUsage(s *api.Scanner, u *wireUsage) {
	members(s, func(key []byte) uint {
		switch string(key) {
		case "promptTokenCount":
			u.Prompt = s.Int()
			return 1
		case "cachedContentTokenCount":
			u.Cached = s.Int()
			return 2
		case "toolUsePromptTokenCount":
			u.ToolUse = s.Int()
			return 4
		case "candidatesTokenCount":
			u.Candidates = s.Int()
			return 8
		case "thoughtsTokenCount":
			u.Thoughts = s.Int()
			return 16
		case "totalTokenCount":
			s.Int()
			return 32
		case "promptTokensDetails":
			scanDetails(s)
			return 64
		case "candidatesTokensDetails":
			scanDetails(s)
			return 128
		case "cacheTokensDetails":
			scanDetails(s)
			return 256
		case "trafficType":
			s.Word()
			return 512
		case "serviceTier":
			s.Word()
			return 1024
		}
		return 0
	})
}

// scanDetails skips a list of counts by modality.
func scanDetails(s *api.Scanner) {
	s.Want('[')
	for s.OK() {
		members(s, func(key []byte) uint {
			switch string(key) {
			case "modality":
				s.Word()
				return 1
			case "tokenCount":
				s.Int()
				return 2
			}
			return 0
		})
		if !s.Is(',') {
			s.Want(']')
			return
		}
	}
}
