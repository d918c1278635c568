package render

// Faint returns a text that matters less.
func (s Style) Faint(text string) string { return s.paint(dim, text) }

// Bold returns a text that stands out.
func (s Style) Bold(text string) string { return s.paint(bold, text) }

// Hint returns a text that says what a person can do now.
func (s Style) Hint(text string) string { return s.paint(amber, text) }
