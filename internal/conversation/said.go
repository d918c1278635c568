package conversation

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/llm"
)

// Said is a message of a person: an input, steering, or the answer to a question. The state
// keeps all of them, because a compaction replaces their turns by the messages themselves, not by a
// summary of them.
type Said struct {
	Turn  int // the number of its turn
	Kind  string
	Asked string    // the question, if it is an answer
	Parts llm.Parts // only the first line if it is Short
	Short bool
}

// The kinds of message, as the model reads them.
const (
	Task     = "user"
	Steering = "steering"
	Answer   = "answer"
)

// firstLine limits the first line of a shortened message, in bytes.
const firstLine = 200

// Size returns how many characters of a window a message takes.
func (m *Said) Size() int {
	const label = 60
	return Chars(m.Parts) + utf8.RuneCountInString(m.Asked) + label
}

// Shortened returns a message cut to its first line.
func (m Said) Shortened() Said {
	text := strings.TrimSpace(m.Parts.Text())
	line, _, more := strings.Cut(text, "\n")
	if len(line) > firstLine {
		line, more = strings.ToValidUTF8(line[:firstLine], ""), true
	}
	if more || len(m.Parts) > 1 {
		line += " [...]"
	}
	return Said{Turn: m.Turn, Kind: m.Kind, Parts: llm.TextParts(strings.Clone(line)), Short: true}
}

// Words hold the messages before a turn as the turn of a compaction shows them.
type Words struct {
	Whole, Short []Said
	Task         int // the turn of the running task, 0 if it is not among them
}

// Write writes the messages to b and returns their media. Most limits the shortened messages, in
// bytes.
func (w *Words) Write(b *strings.Builder, most int, readable bool) (media llm.Parts) {
	if len(w.Short) > 0 {
		b.WriteString("\n\nEarlier messages to you, each by its first line")
		if readable {
			b.WriteString(" (read_output has them whole, by the number of the turn)")
		}
		b.WriteString(":\n" + w.lines(most))
	}
	if len(w.Whole) > 0 {
		b.WriteString("\n\nWhat you were told up to here, word for word, the oldest first:")
	}
	for _, m := range w.Whole {
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
	if w.Task > 0 {
		fmt.Fprintf(b, "\n\nThe task that is being worked on is that of turn %d.", w.Task)
	}
	return media
}

// lines returns a line for each shortened message, the newest as far as most bytes allow.
func (w *Words) lines(most int) string {
	var lines []string
	for _, m := range slices.Backward(w.Short) {
		line := fmt.Sprintf("turn %d, %s: %s", m.Turn, m.Kind, m.Parts.Text())
		if most -= len(line) + 1; most < 0 {
			lines = append(lines, fmt.Sprintf("[%d messages before turn %d]", len(w.Short)-len(lines), m.Turn+1))
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}

// Limited returns text cut to most bytes: the first quarter of them from its beginning, the others
// from its end. Around the cut it adds a line that counts what is missing. Nothing of the text is
// left if most is not positive.
func Limited(text string, most int) string {
	if most = max(most, 0); len(text) <= most {
		return text
	}
	head, tail := text[:most/4], text[len(text)-most*3/4:]
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", strings.ToValidUTF8(head, ""),
		len(text)-len(head)-len(tail), strings.ToValidUTF8(tail, ""))
}

// Split divides the messages of the turns before a turn into those that stay whole and those that
// are shortened. Whole are the task, in the turn of that number, and the newest others that fit
// into limit characters. Both lists keep the order of the messages.
func Split(said []Said, task, before, limit int) (whole, short []Said) {
	for _, m := range slices.Backward(said) {
		switch size := m.Size(); {
		case m.Turn >= before:
		case m.Short:
			short = append(short, m)
		case m.Turn == task && m.Kind == Task:
			whole = append(whole, m)
		case size <= limit:
			limit -= size
			whole = append(whole, m)
		default:
			short = append(short, m.Shortened())
		}
	}
	slices.Reverse(whole)
	slices.Reverse(short)
	return whole, short
}

// mostShort limits the shortened messages that are kept.
const mostShort = 1_000

// Replace returns messages with the shortened ones in their places, of these the newest.
func Replace(said, short []Said) []Said {
	left := make([]Said, 0, len(said))
	for _, m := range said {
		at := slices.IndexFunc(short, func(o Said) bool {
			return o.Turn == m.Turn && o.Kind == m.Kind && o.Asked == m.Asked
		})
		switch {
		case at < 0:
			left = append(left, m)
		case len(short)-at <= mostShort:
			left = append(left, short[at])
		}
	}
	return left
}

// HeadAndTail returns the head and the tail of a text, half of most bytes each, and whether
// something between them is missing.
func HeadAndTail(text string, most int) (kept string, cut bool) {
	if len(text) <= most {
		return text, false
	}
	head, tail := text[:most/2], text[len(text)-most/2:]
	return strings.ToValidUTF8(head, "\uFFFD") + strings.ToValidUTF8(tail, "\uFFFD"), true
}
