package ext

import (
	"fmt"

	"github.com/attractor-go/attractor/internal/texts"
)

// MaxFile limits the bytes of a file.
const MaxFile = 1 << 20

// Origin says who wrote a file.
type Origin uint8

// The origins of files.
const (
	User    Origin = iota // the user, for all projects
	Project               // the authors of the project
)

// String returns "user" or "project".
func (o Origin) String() string {
	if o == Project {
		return "project"
	}
	return "user"
}

// File holds a file as it was read.
type File struct {
	// Name is the path to show to people.
	Name   string
	Data   []byte
	Origin Origin
}

// Mistake says what is wrong in a file, or what of it has no effect.
type Mistake struct {
	File string
	// Line is the number of the line, or 0 if the mistake is about the whole file.
	Line int
	Text string
}

// Error returns the file, the line and the text.
func (m Mistake) Error() string {
	if m.Line == 0 {
		return texts.Shown(m.File) + ": " + m.Text
	}
	return fmt.Sprintf("%s, line %d: %s", texts.Shown(m.File), m.Line, m.Text)
}
