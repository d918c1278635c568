package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/patch"
	"github.com/attractor-go/attractor/tool"
)

type applyPatchArgs struct {
	Patch string `json:"patch" jsonschema:"The patch: from *** Begin Patch to *** End Patch."`
}

// ApplyPatch returns the tool apply_patch(patch). It changes several files at once, in the v4a
// format of package patch, all or nothing.
func ApplyPatch() tool.Tool {
	t := tool.New(llm.ToolDefinition{Name: "apply_patch", Description: patchDescription,
		Parameters: schema("apply_patch")},
		func(ctx context.Context, call *tool.Call, args applyPatchArgs) (tool.Result, error) {
			return RunPatch(ctx, call, args.Patch)
		})
	t.Instead = append(replaces("edit_file"),
		tool.Instead{Of: otherNames("write_file"), How: "a patch with *** Add File"})
	t.Previews, t.Limit = true, tool.Limit{Chars: 10_000, Keep: tool.KeepTail}
	return tool.WithAccess(t, func(args applyPatchArgs) tool.Access { return PatchAccess(args.Patch) })
}

const patchDescription = `Changes files with a patch. Either all of it is applied or nothing. An example:
*** Begin Patch
*** Update File: src/app.py
@@ def greet():
-    print("Hi")
+    print("Hello")
*** End Patch
Operations are *** Update File: PATH, followed by *** Move to: PATH if the file gets another name, and by hunks; *** Add File: PATH, followed by the ` +
	`file's lines, each with + in front; *** Delete File: PATH. A hunk begins with @@, alone or with a whole line of the file above the change. ` +
	`Its lines begin with a space (context, about three lines before and after the change), - (removed) or + (added). After a hunk at the file's ` +
	`end, write *** End of File. Paths are relative to the working directory.`

// PatchAccess returns what [RunPatch] would touch.
func PatchAccess(text string) tool.Access {
	access := tool.Access{Effect: tool.Writes}
	ops, err := patch.Parse(text)
	if err != nil {
		return access // RunPatch reports the error and touches nothing
	}
	access.Paths = patchedPaths(ops)
	return access
}

// RunPatch applies a patch for a call and returns the result of apply_patch. It also takes a script
// that [patch.FromScript] accepts.
func RunPatch(ctx context.Context, call *tool.Call, text string) (tool.Result, error) {
	changes, result, err := patchFor(ctx, call, text,
		func(name string) (string, error) { return call.Named(name), nil })
	if err != nil {
		text := "Error: " + texts.Error(err)
		if errors.Is(err, env.ErrLost) {
			text += ". Whether the files are as they were is unknown: look at them before you send the patch again. " +
				"The next call tries to connect again."
		}
		result.Content, result.IsError = llm.TextParts(text), true
		return result, nil
	}
	var b strings.Builder
	b.WriteString("Done. The patch changed these files:\n")
	for _, c := range changes {
		b.WriteString(c.String() + "\n")
	}
	say(&result, b.String())
	return result, nil
}

// Patch applies a patch to the files of an environment and returns the changes. After an error
// nothing is changed, unless the error says otherwise. A directory that the text changes to, as in
// [patch.Unwrap], must exist. Changes of files that need an approval are refused.
func Patch(ctx context.Context, e env.Environment, text string) ([]patch.Change, error) {
	changes, _, err := patchFor(ctx, &tool.Call{Env: e}, text, func(name string) (string, error) {
		if name == "" {
			return "", nil
		}
		return env.Meant(ctx, e, name)
	})
	return changes, err
}

// patchFor applies a call's patch under a lock that other sessions respect, and plans it again if a
// file changed meanwhile. Add and Move replace existing files even if the session has not seen
// them: the format says so. The result lists the changes, also after an error.
func patchFor(ctx context.Context, call *tool.Call, text string,
	named func(string) (string, error)) ([]patch.Change, tool.Result, error) {
	ops, err := patch.Parse(text)
	if err != nil {
		return nil, tool.Result{}, err
	}
	if err := useMeant(ops, named); err != nil {
		return nil, tool.Result{}, err
	}
	useOneName(call.Env, ops)
	if _, dir := patch.Unwrap(text); dir != "" {
		if info, err := call.Env.Stat(ctx, dir); err != nil {
			return nil, tool.Result{}, fmt.Errorf("cd %s: %w", texts.Shown(dir), err)
		} else if !info.IsDir() {
			return nil, tool.Result{}, fmt.Errorf("cd %s: it is not a directory", texts.Shown(dir))
		}
	}
	unlock, err := env.Lock(ctx, call.Env, patchedPaths(ops)...)
	if err != nil {
		return nil, tool.Result{}, err
	}
	defer unlock()
	for range maxDecisions {
		files := patchFiles{call: call}
		plan, err := patch.NewPlan(ctx, &files, ops,
			func(name string) bool { return call.NeedsApproval(ctx, name) == "" })
		if err != nil {
			return nil, tool.Result{}, withSimilarNames(ctx, call.Env, err)
		}
		if err = plan.Apply(ctx); err == nil {
			result := files.wrote.result(ctx, call, plan.Changes)
			result.Content = llm.TextParts(files.lost)
			return plan.Changes, result, nil
		}
		var failed *patch.Error
		if !errors.Is(err, env.ErrChanged) || errors.As(err, &failed) && failed.Torn {
			return nil, files.wrote.result(ctx, call, nil), err
		}
	}
	return nil, tool.Result{}, errBusy(ops[0].Path)
}

// withSimilarNames adds the names of similar files to the error of a patch whose file does not
// exist.
func withSimilarNames(ctx context.Context, e env.Environment, err error) error {
	var failed *patch.Error
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &failed) {
		return err
	}
	if near, _ := similarNames(ctx, e, failed.Path); len(near) > 0 {
		failed.Text += ". Files with similar names: " + strings.Join(near, ", ")
	}
	return failed
}

// useMeant replaces the names of files by those of the entries that are meant. A file cannot get a
// name that means the file itself.
func useMeant(ops []patch.Op, named func(string) (string, error)) (err error) {
	for i := range ops {
		op := &ops[i]
		given := op.MoveTo
		for _, name := range []*string{&op.Path, &op.MoveTo} {
			if *name, err = named(*name); err != nil {
				return err
			}
		}
		if op.MoveTo == op.Path && path.Clean(given) != op.MoveTo {
			return fmt.Errorf("the new name %+q looks the same as %+q, so that a patch cannot give the file this "+
				"name; use a command, such as mv", given, op.Path)
		}
	}
	return nil
}

// useOneName replaces later names of a file by its first one, such as an absolute name by the
// relative one: a plan follows files by their names.
func useOneName(e env.Environment, ops []patch.Op) {
	first := map[string]string{}
	for i := range ops {
		for _, name := range []*string{&ops[i].Path, &ops[i].MoveTo} {
			if *name == "" {
				continue
			}
			at := absolutePath(e, *name)
			if known, again := first[at]; again {
				*name = known
			} else {
				first[at] = *name
			}
		}
	}
}

// patchedPaths returns the files that operations touch.
func patchedPaths(ops []patch.Op) []string {
	var paths []string
	for _, op := range ops {
		paths = append(paths, op.Path)
		if op.MoveTo != "" {
			paths = append(paths, op.MoveTo)
		}
	}
	return paths
}

// patchFiles implements the files of package patch in a call's environment.
type patchFiles struct {
	call  *tool.Call
	wrote fileChanges
	size  int    // of the files that were read
	lines int    // of the files that were read
	lost  string // lines about what files have lost
}

func (f *patchFiles) Read(ctx context.Context, name string) ([]byte, fs.FileMode, error) {
	info, err := f.call.Env.Stat(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	if info.IsDir() {
		return nil, 0, errors.New("it is a directory")
	}
	content, err := readWhole(ctx, f.call.Env, name)
	f.size += len(content)
	f.lines += strings.Count(content, "\n")
	if err == nil && (f.size > maxWholeBytes || f.lines > maxLines) {
		err = fmt.Errorf("the files of this patch have more than %d MiB, or more than %d lines, up to this one; make "+
			"a patch of each, or use a command", maxWholeBytes>>20, maxLines)
	}
	if errors.Is(err, errTooLarge) {
		err = fmt.Errorf("it is %w, so a patch can neither change nor delete it; use a command, such as sed or rm", err)
	}
	return []byte(content), info.Mode.Perm(), err
}

func (f *patchFiles) Write(ctx context.Context, name string, before *string, data []byte, perm fs.FileMode) error {
	var was content
	if before != nil {
		was = contentOf(f.call, []byte(*before))
	}
	if err := mayWrite(ctx, f.call, name, was); err != nil {
		return err
	}
	lost := lostBy(ctx, f.call.Env, name)
	if err := env.Replace(ctx, f.call.Env, name, was.hash, data, perm); err != nil {
		return err
	}
	f.lost += lost
	f.wrote.add(name, was, contentOf(f.call, data))
	return nil
}

func (f *patchFiles) Remove(ctx context.Context, name, before string) error {
	if err := mayChange(ctx, f.call, name); err != nil {
		return err
	}
	was := contentOf(f.call, []byte(before))
	if err := env.Delete(ctx, f.call.Env, name, was.hash); err != nil {
		return err
	}
	f.wrote.add(name, was, content{})
	return nil
}
