package agent

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// A message is a text from a person: an input, steering, or the answer to a question. The state
// keeps all of them, because a compaction replaces their turns by the messages themselves, not by a
// summary of them.
type message struct {
	Turn  int // the number of its turn
	Kind  string
	Asked string    // the question, if it is an answer
	Parts llm.Parts // only the first line if it is Short
	Short bool
}

// The kinds of message, as the model reads them.
const (
	messageTask     = "user"
	messageSteering = "steering"
	messageAnswer   = "answer"
)

// firstLine limits the first line of a shortened message, in bytes.
const firstLine = 200

// mostShort limits the shortened messages in the state. Older ones are in the journal, where
// read_output finds them.
const mostShort = 1_000

// addMessage adds a message of the turn that is added next.
func (s *State) addMessage(kind, asked string, parts llm.Parts) {
	s.said = append(s.said, message{Turn: s.turnCount + 1, Kind: kind, Asked: asked, Parts: parts})
}

// task returns the number of the running task's turn, or of the task that Continue would go on
// with. It returns 0 if there is none.
func (s *State) task() int {
	if s.Input == nil && (s.Last == nil || s.Last.Reason.isDone()) {
		return 0
	}
	for _, m := range slices.Backward(s.said) {
		if m.Kind == messageTask {
			return m.Turn
		}
	}
	return 0
}

// size returns how many characters of a window a message takes.
func (m *message) size() int {
	const label = 60
	return conversation.Chars(m.Parts) + utf8.RuneCountInString(m.Asked) + label
}

// splitMessages divides the messages of the turns before a turn into those that a compaction keeps
// whole and those that it shortens. Whole are the task and the newest others that fit into limit
// characters. Both lists keep the order of the messages.
func (s *State) splitMessages(before, limit int) (whole, short []message) {
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

// shortenMessages shortens the messages that no later compaction will keep whole, so that the state
// stays small.
func (s *State) shortenMessages() {
	_, short := s.splitMessages(s.turnCount+1, windowOr(s.Policy.Window)*charsPerToken/4)
	left := make([]message, 0, len(s.said))
	for _, m := range s.said {
		at := slices.IndexFunc(short, func(o message) bool {
			return o.Turn == m.Turn && o.Kind == m.Kind &&
				o.Asked == m.Asked
		})
		switch {
		case at < 0:
			left = append(left, m)
		case len(short)-at <= mostShort:
			left = append(left, short[at])
		}
	}
	s.said = left
}

// shortened returns a message cut to its first line.
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

// words holds the messages before a turn as the turn of a compaction shows them.
type words struct {
	whole, short []message
	task         int // the turn of the running task, 0 if it is not among them
}

// write writes the messages to b and returns their media. Most limits the shortened messages, in
// bytes.
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

// lines returns a line for each shortened message, the newest as far as most bytes allow.
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
