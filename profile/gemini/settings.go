package gemini

import (
	"encoding/json"
	"maps"
	"slices"
)

// Settings are parameters of the Gemini API that the profile leaves alone. The zero value asks for none of them.
//
// Grounding with Google Search is not among them: it is a tool that the API runs by itself, and package llm/gemini sends only those of the
// session.
type Settings struct {
	// Thoughts asks for summaries of what the model thinks, at the effort that it has by itself. A session's Effort asks for them too, with
	// that effort; Thoughts then takes its place, so use one of the two.
	Thoughts bool
	// Safety has thresholds by harm category, both in the API's words, such as BLOCK_ONLY_HIGH for HARM_CATEGORY_DANGEROUS_CONTENT.
	// Categories that are left out have the API's default.
	Safety map[string]string
}

type safetySetting struct {
	Category  string `json:"category"`
	Threshold string `json:"threshold"`
}

type thinkingConfig struct {
	IncludeThoughts bool `json:"includeThoughts"`
}

type generationConfig struct {
	Thinking thinkingConfig `json:"thinkingConfig"`
}

// Options are the settings as the options of a profile, or of a session: one JSON object, or nil when nothing is set.
func (s Settings) Options() (json.RawMessage, error) {
	var o struct {
		Safety []safetySetting   `json:"safetySettings,omitempty"`
		Config *generationConfig `json:"generationConfig,omitempty"`
	}
	for _, category := range slices.Sorted(maps.Keys(s.Safety)) {
		o.Safety = append(o.Safety, safetySetting{category, s.Safety[category]})
	}
	if s.Thoughts {
		o.Config = &generationConfig{thinkingConfig{IncludeThoughts: true}}
	}
	if o.Safety == nil && o.Config == nil {
		return nil, nil
	}
	return json.Marshal(o)
}
