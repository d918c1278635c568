package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// maxDecisions limits how often a change is decided again for a file that others keep changing.
const maxDecisions = 16

// decision holds the new content of a file.
type decision struct {
	was  content // the content that the decision is based on
	data []byte
}

// change calls decide and writes its content under a lock that other sessions respect. If the file
// changed meanwhile, it asks again. The result lists the changes.
func change(ctx context.Context, call *tool.Call, name string, decide func() (decision, error)) (tool.Result, error) {
	unlock, err := env.Lock(ctx, call.Env, name)
	if err != nil {
		return tool.Result{}, err
	}
	defer unlock()
	for range maxDecisions {
		d, err := decide()
		if err != nil {
			return tool.Result{}, err
		}
		if err := mayWrite(ctx, call, name, d.was); err != nil {
			return tool.Result{}, err
		}
		lost := lostBy(ctx, call.Env, name)
		err = env.Replace(ctx, call.Env, name, d.was.hash, d.data, newFilePerm)
		if err == nil {
			var w fileChanges
			w.add(name, d.was, contentOf(call, d.data))
			result := w.result(ctx, call, nil)
			result.Content = llm.TextParts(lost)
			return result, nil
		}
		if !errors.Is(err, env.ErrChanged) {
			return tool.Result{}, err
		}
	}
	return tool.Result{}, errBusy(name)
}

// say puts a text in front of what a change has said.
func say(result *tool.Result, text string) {
	if lost := result.Content.Text(); lost != "" {
		text = strings.TrimSuffix(text, "\n") + "\n" + lost
	}
	result.Content = llm.TextParts(text)
}

// lostBy returns the line of a result about what a file loses when its content is replaced, or "".
func lostBy(ctx context.Context, e env.Environment, name string) string {
	node, err := env.TreeOf(e).Lstat(ctx, resolvedPath(ctx, e, name))
	var lost []string
	if err != nil || !node.Mode.IsRegular() {
		return ""
	}
	if node.Links > 1 {
		lost = append(lost, fmt.Sprintf("it was a hard link of %d names, of which the others keep the old content",
			node.Links))
	}
	if node.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		lost = append(lost, "its set-user-id or set-group-id bit was removed")
	}
	if lost == nil {
		return ""
	}
	return fmt.Sprintf("[%s: %s]\n", texts.Shown(name), strings.Join(lost, "; "))
}

// errBusy returns the error for a file that others keep changing.
func errBusy(name string) error {
	return fmt.Errorf("%s keeps being changed by somebody else; nothing was changed. Find out what writes it, then "+
		"try again", texts.Shown(name))
}

// mayWrite returns an error if a file must not be written in place of a content: it needs an
// approval, or it would be a second file whose name looks the same.
func mayWrite(ctx context.Context, call *tool.Call, name string, was content) error {
	if was.hash == env.NoFile {
		meant, err := env.Meant(ctx, call.Env, name)
		if err != nil {
			return err
		}
		if meant != name {
			return fmt.Errorf("%+q was not created, because %+q is there now, which looks the same: if you mean that "+
				"file, repeat the call", name, meant)
		}
	}
	return mayChange(ctx, call, name)
}

// mayChange returns an error if changing the file needs an approval that the call lacks.
func mayChange(ctx context.Context, call *tool.Call, name string) error {
	if why := call.NeedsApproval(ctx, name); why != "" {
		return fmt.Errorf("%s was not changed, because that needs a person's approval: %s. Say what you want to "+
			"change and why, or do without", texts.Shown(name), why)
	}
	return nil
}
