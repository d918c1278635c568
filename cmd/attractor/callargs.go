package main

import (
	"encoding/json"
	"strings"
)

// unimportant lists arguments of commands that say nothing about what the command does.
func unimportant(name string) bool {
	switch name {
	case "command", "cmd", "description", "timeout_ms", "yield_time_ms", "max_output_tokens", "delay_ms", "wait_for_previous", "timeout":
		return true
	}
	return false
}

// callArguments returns the arguments of a call, each on a line of its own, and texts of several lines as they are. For a command it returns
// what else matters.
func callArguments(args, command string) string {
	dec := json.NewDecoder(strings.NewReader(args))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		if command != "" {
			return ""
		}
		return indented(args, "  ")
	}
	var b strings.Builder
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		key, _ := name.(string)
		if err != nil {
			return indented(args, "  ")
		}
		if command == "" || !unimportant(key) {
			b.WriteString(callArgument(key, value))
		}
	}
	return b.String()
}

// callArgument returns an argument as text.
func callArgument(name string, value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return "  " + oneLine(name) + ": " + oneLine(string(value)) + "\n"
	}
	switch {
	case name == "old_string":
		return indented(text, "  - ")
	case name == "new_string":
		return indented(text, "  + ")
	case strings.Contains(text, "\n"):
		return "  " + oneLine(name) + ":\n" + indented(text, "    ")
	}
	return "  " + oneLine(name) + ": " + oneLine(text) + "\n"
}
