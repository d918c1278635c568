package gemini

import "strings"

// family groups models by what must be known without a catalog. It is derived from the model's
// name.
type family uint8

const (
	// otherFamily are models whose names tell nothing: other vendors' models, tuned models, a
	// gateway's aliases.
	otherFamily family = iota
	// gemini2 are the models up to 2.5: signatures are optional, media in a function response are
	// refused, and thinking, where available, has a budget.
	gemini2
	// gemini3 are all later models: the first call of a response must have a signature, media
	// belong in the function response, and thinking has levels.
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
	case strings.HasSuffix(rest, "-latest"): // names such as gemini-flash-latest stand for the newest model
		return gemini3
	}
	return otherFamily
}

// mayShare reports whether one model may be sent what the other signed. Google says to replace
// signatures of Gemini 2.5 by the dummy when a conversation continues with Gemini 3. Within a
// generation they are valid.
func mayShare(a, b family) bool { return a == b || a == otherFamily || b == otherFamily }
