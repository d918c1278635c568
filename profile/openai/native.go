package openai

import (
	_ "embed"
	"encoding/json"

	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

//go:embed native.md
var nativePart string

// nativeOptions also ask for short answers, as OpenAI's agent does.
const nativeOptions = `{"reasoning":{"summary":"auto"},"text":{"verbosity":"low"}}`

// Native returns the profile in the dialect of OpenAI's own agent, codex 0.169: its names,
// parameters and result formats over the same executors. It is the classic form, in which the model
// calls tools one by one. The code mode, in which the model writes JavaScript that calls them, is
// left out. So is what belongs to that product: goals, the search for deferred tools and the hosted
// web search. Files are read and searched with commands. Two things are this project's own:
// read_output, for what truncation and compaction removed, and the tools for subagents, where a
// session allows them.
func Native() profile.Profile {
	p := base()
	p.Dialect = "native"
	p.Prompt = profile.PromptWith(prompt, nativePart)
	p.Tools = append([]tool.Tool{
		execCommand(), writeStdin(), coding.UpdatePlan(), requestUserInput(), applyPatch(), viewImage(),
		coding.ReadOutput(),
	}, coding.Agents()...)
	p.Options = json.RawMessage(nativeOptions)
	return p
}

// dialect returns the vendor's words for the shared tools.
func dialect() coding.Dialect {
	return coding.Dialect{Words: map[string]string{
		"shell": "exec_command", "read_file.file_path": "path", "grep": "", "glob": "", "list_dir": "", "process": "",
	}}
}
