package render

// Style says how text looks where it is shown. The zero value is plain text.
type Style struct {
	// Colour allows colours, as SGR sequences.
	Colour bool
}

// The colours of a terminal (SGR).
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	amber = "33"
)

// paint returns a text in a colour.
func (s Style) paint(sgr, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}
