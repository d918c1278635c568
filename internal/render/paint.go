package render

// Faint returns a text that matters less.
func (s Style) Faint(text string) string { return s.paint(dim, text) }

// Bold returns a text that stands out.
func (s Style) Bold(text string) string { return s.paint(bold, text) }

// Warning returns a text of which a person should take note.
func (s Style) Warning(text string) string { return s.paint(amber, text) }
