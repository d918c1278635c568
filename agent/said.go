package agent

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/llm"
)

// message is what a person told the agent: an input, steering, or the answer to a question. The state keeps them all, because a compaction
// puts them, not a summary of them, in the place of their turns.
type message struct {
	Turn  int // the turn that it is in
	Kind  string
	Asked string    // the question that an answer is to
	Parts llm.Parts // of a shortened one, its first line
	Short bool
}

// The kinds of message, as the model reads them.
const (
	messageTask     = "user"
	messageSteering = "steering"
	messageAnswer   = "answer"
)

// firstLine is how much of a message stays when only its first line does, in bytes.
const firstLine = 200

// mostShort is how many shortened messages the state keeps. Those before them are still in the journal, and read_output finds them.
const mostShort = 1_000

// hears adds a message that is part of the turn that is made next.
func (s *State) hears(kind, asked string, parts llm.Parts) {
	s.said = append(s.said, message{Turn: s.told + 1, Kind: kind, Asked: asked, Parts: parts})
}

// task returns the turn of the task that is being worked on, or that Continue would go on with; 0 when there is none.
func (s *State) task() int {
	if s.Input == nil && (s.Last == nil || s.Last.Reason.finished()) {
		return 0
	}
	for _, m := range slices.Backward(s.said) {
		if m.Kind == messageTask {
			return m.Turn
		}
	}
	return 0
}

// size returns what a message takes of a window, in characters.
func (m *message) size() int {
	const label = 60
	return chars(m.Parts) + utf8.RuneCountInString(m.Asked) + label
}

// split divides the messages of turns below before into those that stay word for word (the task, and the newest of the others that fit
// into limit characters) and those that are shortened. Both are in their order.
func (s *State) split(before, limit int) (whole, short []message) {
	task := s.task()
	for _, m := range slices.Backward(s.said) {
		switch size := m.size(); {
		case m.Turn >= before:
		case m.Short:
			short = append(short, m)
		case m.Turn == task && m.Kind == messageTask:
			whole = append(whole, m)
		case size <= limit:
			limit -= size
			whole = append(whole, m)
		default:
			short = append(short, m.shortened())
		}
	}
	slices.Reverse(whole)
	slices.Reverse(short)
	return whole, short
}

// forget shortens the messages that no compaction will show whole any more, so that the state does not grow with them.
func (s *State) forget() {
	_, short := s.split(s.told+1, windowOr(s.Policy.Window)*charsPerToken/4)
	left := make([]message, 0, len(s.said))
	for _, m := range s.said {
		at := slices.IndexFunc(short, func(o message) bool { return o.Turn == m.Turn && o.Kind == m.Kind && o.Asked == m.Asked })
		switch {
		case at < 0:
			left = append(left, m)
		case len(short)-at <= mostShort:
			left = append(left, short[at])
		}
	}
	s.said = left
}

func (m message) shortened() message {
	text := strings.TrimSpace(m.Parts.Text())
	line, _, more := strings.Cut(text, "\n")
	if len(line) > firstLine {
		line, more = strings.ToValidUTF8(line[:firstLine], ""), true
	}
	if more || len(m.Parts) > 1 {
		line += " [...]"
	}
	return message{Turn: m.Turn, Kind: m.Kind, Parts: llm.TextParts(strings.Clone(line)), Short: true}
}

// words is what people said before a turn, as the turn of a compaction shows it.
type words struct {
	whole, short []message
	task         int // the turn of the task that is being worked on, if it is among them; else 0
}

// write renders the words and returns the media that belong to them. most is for the shortened ones, in bytes.
func (w *words) write(b *strings.Builder, most int, readable bool) (media llm.Parts) {
	if len(w.short) > 0 {
		b.WriteString("\n\nEarlier messages to you, each by its first line")
		if readable {
			b.WriteString(" (read_output has them whole, by the number of the turn)")
		}
		b.WriteString(":\n" + w.lines(most))
	}
	if len(w.whole) > 0 {
		b.WriteString("\n\nWhat you were told up to here, word for word, the oldest first:")
	}
	for _, m := range w.whole {
		fmt.Fprintf(b, "\n<%s turn=\"%d\">\n", m.Kind, m.Turn)
		if m.Asked != "" {
			fmt.Fprintf(b, "To the question: %s\n", m.Asked)
		}
		for _, part := range m.Parts {
			switch p := part.(type) {
			case llm.Text:
				b.WriteString(p.Text + "\n")
			case llm.Media:
				media = append(media, p)
				fmt.Fprintf(b, "[%s: number %d of the attachments of this message]\n", p.MIME, len(media))
			}
		}
		fmt.Fprintf(b, "</%s>", m.Kind)
	}
	if w.task > 0 {
		fmt.Fprintf(b, "\n\nThe task that is being worked on is that of turn %d.", w.task)
	}
	return media
}

// lines lists the shortened messages, the newest as far as there is room.
func (w *words) lines(most int) string {
	var lines []string
	for _, m := range slices.Backward(w.short) {
		line := fmt.Sprintf("turn %d, %s: %s", m.Turn, m.Kind, m.Parts.Text())
		if most -= len(line) + 1; most < 0 {
			lines = append(lines, fmt.Sprintf("[%d messages before turn %d]", len(w.short)-len(lines), m.Turn+1))
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}
