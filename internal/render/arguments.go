package render

import (
	"encoding/json"
	"slices"
	"strings"
)

// unimportant reports whether an argument says nothing about what a command does.
func unimportant(name string) bool {
	return slices.Contains([]string{"command", "cmd", "description", "timeout_ms", "yield_time_ms",
		"max_output_tokens", "delay_ms", "wait_for_previous", "timeout"}, name)
}

// callArguments returns the arguments of a call, each on a line of its own, and texts of several
// lines as they are. For a command it returns what else matters.
func callArguments(args, command string) string {
	dec := json.NewDecoder(strings.NewReader(args))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		if command != "" {
			return ""
		}
		return indented(args, "  ")
	}
	var plain, old, now string // the texts that an edit replaces and inserts come last
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		if err != nil {
			return indented(args, "  ")
		}
		key, _ := name.(string)
		switch {
		case command != "" && unimportant(key):
		case key == "old_string":
			old += callArgument(key, value, "  - ")
		case key == "new_string":
			now += callArgument(key, value, "  + ")
		default:
			plain += callArgument(key, value, "")
		}
	}
	return plain + old + now
}

// callArgument returns an argument as text. A text gets the prefix, if there is one, instead of its
// name.
func callArgument(name string, value json.RawMessage, prefix string) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return "  " + OneLine(name) + ": " + OneLine(string(value)) + "\n"
	}
	switch {
	case prefix != "":
		return indented(text, prefix)
	case strings.Contains(text, "\n"):
		return "  " + OneLine(name) + ":\n" + indented(text, "    ")
	}
	return "  " + OneLine(name) + ": " + OneLine(text) + "\n"
}
