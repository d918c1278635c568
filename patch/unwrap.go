package patch

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
)

var fence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?s)^```[a-z]*\n(.*)\n```$")
})

// Unwrap removes what models put around a patch: a code fence, a JSON object with a single string,
// a heredoc or a whole [Invocation]. It returns the patch and the directory that the invocation
// changes to, or "". Unlike [FromScript] it accepts text that a shell would expand, and does not
// expand it.
func Unwrap(text string) (patch, dir string) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if m := fence().FindStringSubmatch(text); m != nil {
		text = strings.TrimSpace(m[1])
	}
	text = fromJSON(text)
	command := text
	if strings.HasPrefix(text, "<<") {
		command = "apply_patch " + text
	}
	if inv, ok := invocation(command); ok {
		return inv.Patch, inv.Dir
	}
	return text, ""
}

// fromJSON returns the value of a JSON string or of the only member of a JSON object, and any other
// text unchanged.
func fromJSON(text string) string {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, `"`) {
		return text
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	if object, ok := value.(map[string]any); ok && len(object) == 1 {
		for _, member := range object {
			value = member
		}
	}
	if patch, ok := value.(string); ok {
		return strings.TrimSpace(strings.ReplaceAll(patch, "\r\n", "\n"))
	}
	return text
}
