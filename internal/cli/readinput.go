package cli

import (
	"encoding/json"
	"io"
	"os"
	"strings"
)

// readSchema returns the content of the file of --output-schema, or nil without a name.
func readSchema(name string) (json.RawMessage, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fail(exitUsage, "cannot read the schema: %w", err)
	}
	var schema map[string]json.RawMessage
	if err := json.Unmarshal(data, &schema); err != nil {
		return nil, fail(exitUsage, "%s is not a JSON Schema, which must be a JSON object: %w", name, err)
	}
	return data, nil
}

// endsInDash reports whether the arguments of a prompt name standard input.
func endsInDash(args []string) bool { return len(args) > 0 && args[len(args)-1] == "-" }

// readPrompt returns the arguments as one text. For a - at their end it reads standard input, which
// follows the other arguments after an empty line.
func readPrompt(args []string, stdin io.Reader) (string, error) {
	words, piped := args, ""
	if endsInDash(args) {
		data, err := io.ReadAll(stdin)
		if err != nil {
			return "", fail(exitUsage, "cannot read the prompt from standard input: %w", err)
		}
		words, piped = args[:len(args)-1], string(data)
	}
	prompt := strings.Join(words, " ")
	if prompt != "" && piped != "" {
		prompt += "\n\n"
	}
	prompt += piped
	if strings.TrimSpace(prompt) == "" {
		return "", fail(exitUsage,
			"the prompt is empty; pass it as an argument, or pass - to read it from standard input")
	}
	return prompt, nil
}
