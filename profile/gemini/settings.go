package gemini

import (
	"encoding/json"
	"maps"
	"slices"
)

// Settings holds parameters of the Gemini API that the profile leaves at their defaults. The zero
// value changes none.
//
// Grounding with Google Search is not among them: it is a tool that the API runs itself, and
// package llm/gemini sends only the session's tools.
type Settings struct {
	// Thoughts asks for summaries of the model's thinking at its default effort. A session's Effort
	// asks for them too, at that effort; Thoughts would override it, so use only one of the two.
	Thoughts bool
	// Safety holds thresholds by harm category in the API's words, such as BLOCK_ONLY_HIGH for
	// HARM_CATEGORY_DANGEROUS_CONTENT. Other categories have the API's default.
	Safety map[string]string
}

type safetySetting struct {
	Category  string `json:"category"`
	Threshold string `json:"threshold"`
}

// Options returns the settings as the options of a profile or a session: one JSON object, or nil if
// nothing is set.
func (s Settings) Options() (json.RawMessage, error) {
	var o struct {
		Safety []safetySetting `json:"safetySettings,omitempty"`
		Config json.RawMessage `json:"generationConfig,omitempty"`
	}
	for _, category := range slices.Sorted(maps.Keys(s.Safety)) {
		o.Safety = append(o.Safety, safetySetting{category, s.Safety[category]})
	}
	if s.Thoughts {
		o.Config = json.RawMessage(`{"thinkingConfig":{"includeThoughts":true}}`)
	}
	if o.Safety == nil && o.Config == nil {
		return nil, nil
	}
	return json.Marshal(o)
}
