package picture

import (
	"slices"

	"github.com/attractor-go/attractor/llm"
)

// Media returns a medium as every vendor takes it, and a sentence for the model if that is another
// size than the original's. Media that are no images, or images of types that only some models
// take, stay as they are. An error is one of [Fit].
func Media(m llm.Media) (fitted llm.Media, note string, err error) {
	common := slices.Contains([]string{"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"}, m.MIME)
	if len(m.Data) == 0 || !common && Type(m.Data) == "" {
		return m, "", nil
	}
	p, err := Fit(m.Data)
	if err != nil {
		return m, "", err
	}
	m.MIME, m.Data = p.MIME, p.Data
	return m, p.Scaled(), nil
}

// Parts returns a content in which each medium is as every vendor takes it, with the sentence
// before it. In place of an image that cannot be shown stands a line that says why.
func Parts(content llm.Parts) llm.Parts {
	var fitted llm.Parts
	for _, part := range content {
		m, ok := part.(llm.Media)
		if !ok {
			fitted = append(fitted, part)
			continue
		}
		m, note, err := Media(m)
		switch {
		case err != nil:
			fitted = append(fitted, llm.Text{Text: "[An image was left out: it is " + err.Error() + ".]"})
			continue
		case note != "":
			fitted = append(fitted, llm.Text{Text: "[" + note + "]"})
		}
		fitted = append(fitted, m)
	}
	return fitted
}
