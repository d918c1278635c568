package openai

import (
	"context"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// applyPatch returns the tool apply_patch in its free form. The text of a call is the patch itself
// and not JSON, and a grammar keeps the model to the format.
func applyPatch() tool.Tool {
	base := coding.ApplyPatch()
	return tool.Tool{
		ToolDefinition: llm.ToolDefinition{
			Name:        base.Name,
			Description: base.Description + " The input is the patch itself, not JSON.",
			Grammar:     &llm.Grammar{Syntax: "lark", Definition: patchGrammar},
		},
		Access: func(text string) (tool.Access, error) { return coding.PatchAccess(text), nil },
		Run: func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			return coding.RunPatch(ctx, call, call.Args)
		},
		Limit:    base.Limit,
		Instead:  base.Instead,
		Previews: base.Previews,
	}
}

// patchGrammar is the format of package patch, without the variants that the parser also accepts.
// No terminal can be empty, because Lark forbids it.
const patchGrammar = `start: "*** Begin Patch" NL operation+ "*** End Patch" NL?
operation: add | delete | update
add: "*** Add File: " REST NL ADDED*
delete: "*** Delete File: " REST NL
update: "*** Update File: " REST NL move? (place | CHANGE)+ last?
move: "*** Move to: " REST NL
place: "@@" (" " REST)? NL
last: "*** End of File" NL
ADDED: /\+[^\n]*\n/
CHANGE: /[ +-][^\n]*\n/
REST: /[^\n]+/
NL: "\n"
`
