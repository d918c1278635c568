package patch

import (
	"encoding/json"
	"regexp"
	"strings"
)

var fence = regexp.MustCompile("(?s)^```[a-z]*\n(.*)\n```$")

// Unwrap removes what models put around a patch as if they wrote for a shell, a page or an API. It returns the directory that they
// changed to, empty for none. Unlike with [FromScript] there is no shell that would expand anything.
func Unwrap(text string) (patch, dir string) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	if m := fence.FindStringSubmatch(text); m != nil {
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

// fromJSON returns the only string of a JSON object, or a JSON string itself. Any other text is returned as it is.
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
