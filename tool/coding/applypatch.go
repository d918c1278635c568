package coding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/patch"
	"github.com/attractor-go/attractor/tool"
)

type applyPatchArgs struct {
	Patch string `json:"patch" jsonschema:"The patch: from *** Begin Patch to *** End Patch."`
}

// ApplyPatch is the tool apply_patch(patch): several files at once, in the v4a format of package patch, all or nothing.
func ApplyPatch() tool.Tool {
	t := tool.New(llm.ToolDefinition{Name: "apply_patch", Description: patchDescription},
		func(ctx context.Context, call *tool.Call, args applyPatchArgs) (tool.Result, error) {
			return applyPatch(ctx, call, args.Patch)
		})
	t.Limit = patchLimit()
	return tool.WithAccess(t, func(args applyPatchArgs) tool.Access { return patchAccess(args.Patch) })
}

const patchDescription = "Changes files with a patch. It begins with the line *** Begin Patch and ends with *** End Patch. Between them stand operations: " +
	"*** Add File: PATH, followed by the file's lines, each with + in front; *** Delete File: PATH; *** Update File: PATH, optionally " +
	"followed by *** Move to: PATH, then hunks. A hunk begins with @@, or with @@ and a line of the file to find the place, such as " +
	"@@ def main():, followed by lines with a space (context, about three before and after), - (removed) or + (added) in front; " +
	"*** End of File after a hunk at the file's end. Paths are relative to the working directory. Nothing is changed unless all of it fits."

func patchLimit() tool.Limit { return tool.Limit{Chars: 10_000, Keep: tool.KeepTail} }

// patchAccess tells what applyPatch would touch.
func patchAccess(text string) tool.Access {
	access := tool.Access{Effect: tool.Writes}
	ops, err := patch.Parse(text)
	if err != nil {
		return access // running it will say so, and touches nothing
	}
	for _, op := range ops {
		access.Paths = append(access.Paths, op.Path)
		if op.MoveTo != "" {
			access.Paths = append(access.Paths, op.MoveTo)
		}
	}
	return access
}

// applyPatch is a call that applies a patch, which may also be a script for which [patch.FromScript] is true.
func applyPatch(ctx context.Context, call *tool.Call, text string) (tool.Result, error) {
	changes, err := Patch(ctx, call.Env, text)
	if err != nil {
		return tool.Errorf("Error: %v", err), nil
	}
	var b strings.Builder
	b.WriteString("Done. The patch changed these files:\n")
	for _, c := range changes {
		b.WriteString(c.String() + "\n")
	}
	return tool.Text(b.String()), nil
}

// Patch applies a patch to the files of an environment and says what it changed. After an error nothing is changed, or the error
// says what is. A directory that the text changes to, as [patch.Unwrap] has it, must be there.
func Patch(ctx context.Context, e env.Environment, text string) ([]patch.Change, error) {
	ops, err := patch.Parse(text)
	if err != nil {
		return nil, err
	}
	if _, dir := patch.Unwrap(text); dir != "" {
		if info, err := e.Stat(ctx, dir); err != nil {
			return nil, fmt.Errorf("cd %s: %w", dir, err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("cd %s: it is no directory", dir)
		}
	}
	plan, err := patch.NewPlan(ctx, patchFiles{e}, ops)
	if err != nil {
		return nil, err
	}
	return plan.Changes, plan.Apply(ctx)
}

// patchFiles are an environment's files as package patch wants them.
type patchFiles struct{ e env.Environment }

func (f patchFiles) Read(ctx context.Context, name string) ([]byte, fs.FileMode, error) {
	info, err := f.e.Stat(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	if info.IsDir() {
		return nil, 0, errors.New("it is a directory")
	}
	r, err := f.e.Open(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	data, err := io.ReadAll(r)
	return data, info.Mode.Perm(), errors.Join(err, r.Close())
}

func (f patchFiles) Write(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	return f.e.WriteFile(ctx, name, data, perm)
}

func (f patchFiles) Remove(ctx context.Context, name string) error { return f.e.Remove(ctx, name) }
