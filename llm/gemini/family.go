package gemini

import "strings"

// family is what must be known of a model that stands in no catalog. It follows from the model's name.
type family uint8

const (
	// otherFamily are models whose name tells nothing: other makers', tuned ones, aliases of a gateway.
	otherFamily family = iota
	// gemini2 are the models up to 2.5: signatures are optional, media in a function response are refused, thinking has a
	// budget, if it can be had at all.
	gemini2
	// gemini3 are all later models: the first call of an answer must bear a signature, media belong into the function response,
	// thinking has levels.
	gemini3
)

func familyOf(model string) family {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(model, "models/"), "gemini-")
	if !ok || rest == "" {
		return otherFamily
	}
	switch {
	case rest[0] >= '0' && rest[0] <= '2' && (len(rest) == 1 || rest[1] == '.' || rest[1] == '-'):
		return gemini2
	case rest[0] >= '0' && rest[0] <= '9':
		return gemini3
	case strings.HasSuffix(rest, "-latest"): // gemini-flash-latest and its kin name the newest
		return gemini3
	}
	return otherFamily
}

// mayShare says whether what one of two models signed may be shown to the other. Google has the signatures of Gemini 2.5
// replaced by the dummy when a conversation goes on with Gemini 3; between models of one generation they hold.
func mayShare(a, b family) bool { return a == b || a == otherFamily || b == otherFamily }
