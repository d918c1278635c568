package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/sanitize"
)

// openDir opens a working directory, with limits and a sandbox for commands. The caller closes the Local and then the Sandbox.
func openDir(t terminal, dir string, limits env.Limits, confine sandbox.Options) (*env.Local, *sandbox.Sandbox, error) {
	local, box, err := host.OpenDir(dir, limits, confine)
	if err != nil {
		return nil, nil, hostError(err)
	}
	tellAbandoned(t, local)
	return local, box, nil
}

// tellOpened tells a person on standard error what they should know of a session that was opened.
func tellOpened(t terminal, setup *host.Setup) {
	tellAbandoned(t, setup.Local)
	tellUntrusted(t, setup)
	tellIgnored(t, setup.Rules)
	tellUnmasked(t, setup.Unmasked)
}

// tellAbandoned lists the processes that a killed attractor had left behind. They have been ended.
func tellAbandoned(t terminal, local *env.Local) {
	ended, err := local.Abandoned()
	for _, line := range ended {
		fmt.Fprintln(t.err, "attractor: ended a process that a killed run had left behind: "+sanitize.Text(line))
	}
	if err != nil {
		fmt.Fprintln(t.err, "attractor: warning: processes of a killed run may still be running:", err)
	}
}

// tellPlan tells a person that a resumed session is still in plan mode.
func tellPlan(t terminal, setup *host.Setup) {
	if setup.Resumed && setup.Mode() == host.ModePlan {
		fmt.Fprintln(t.err, "attractor: the session is in plan mode; to leave it, pass another mode, such as --mode ask")
	}
}

// readInstructions returns the text, or the content of the file in @file.
func readInstructions(value string) (string, error) {
	name, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return value, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", fail(exitUsage, "cannot read the instructions: %w", err)
	}
	return string(data), nil
}

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

// readPrompt returns the arguments as one text. For a single - it reads standard input.
func readPrompt(args []string, stdin io.Reader) (string, error) {
	prompt := strings.Join(args, " ")
	if prompt == "-" {
		data, err := io.ReadAll(stdin)
		if err != nil {
			return "", fail(exitUsage, "cannot read the prompt from standard input: %w", err)
		}
		prompt = string(data)
	}
	if strings.TrimSpace(prompt) == "" {
		return "", fail(exitUsage, "the prompt is empty; pass it as an argument, or pass - to read it from standard input")
	}
	return prompt, nil
}
