package instructions

// Ref is an import as a document has it.
type Ref struct {
	Name string
	Line int
}

// Imports returns what a text imports.
func Imports(text string) (refs []Ref) {
	for _, r := range imports(text) {
		refs = append(refs, Ref{r.name, r.line})
	}
	return refs
}

// Scope returns the patterns and the text of a rule, and what is wrong with it.
func Scope(text string) (d Document, body string, mistakes []Mistake) {
	f := &finder{}
	d = Document{Path: "/r/x.md", Dir: "/r", text: text}
	f.scope(&d)
	return d, d.text, f.mistakes
}

// AppliesTo reports whether a document applies to a file.
func (d *Document) AppliesTo(file string) bool { return d.appliesTo(file) }
