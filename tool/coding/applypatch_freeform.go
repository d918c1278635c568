package coding

import (
	"context"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// ApplyPatchFreeform is the tool apply_patch as a free-form one: the patch is the call's whole text and no JSON, and a grammar keeps
// the model to the format. It is for APIs that have such tools, OpenAI's; models of other vendors take [ApplyPatch].
func ApplyPatchFreeform() tool.Tool {
	return tool.Tool{
		ToolDefinition: llm.ToolDefinition{
			Name:        "apply_patch",
			Description: patchDescription + " The input is the patch itself, not JSON.",
			Grammar:     &llm.Grammar{Syntax: "lark", Definition: patchGrammar},
		},
		Access: func(text string) (tool.Access, error) { return patchAccess(text), nil },
		Run: func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			return applyPatch(ctx, call, call.Args)
		},
		Limit: patchLimit(),
	}
}

// patchGrammar is the format of package patch, without what the parser takes beyond it. No terminal can be empty: Lark forbids it.
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
