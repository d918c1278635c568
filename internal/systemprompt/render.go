package systemprompt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/instructions"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/tool"
)

// Parts hold what a prompt is made of.
type Parts struct {
	Base      string // the profile's text
	Env       env.Environment
	Model     string
	Now       func() time.Time
	Approvals bool        // somebody can approve calls
	Tools     []tool.Tool // whose Guidance the prompt has
	Compacts  bool        // long conversations are compacted
	Documents instructions.Options
	// Instructions are the host's.
	Instructions string
}

// Render returns the prompt and the documents that it has.
func Render(ctx context.Context, p Parts) (text string, documents []instructions.Document) {
	repo := git.Look(ctx, p.Env)
	found := instructions.Find(ctx, p.Env, repo.Root, p.Documents)
	layers := []string{
		strings.TrimSpace(p.Base),
		environmentBlock(&p, repo, p.Now()),
		toolGuidance(p.Tools),
		compactionNotice(p.Compacts),
		found.Text,
		hostInstructions(p.Instructions),
	}
	layers = slices.DeleteFunc(layers, func(l string) bool { return l == "" })
	documents = slices.DeleteFunc(found.Documents, func(d instructions.Document) bool { return d.Shown == 0 })
	return strings.ToValidUTF8(strings.Join(layers, "\n\n"), "\uFFFD"), documents
}

// hostInstructions returns the host's instructions under a heading, which separates them from the
// project documents.
func hostInstructions(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	return "# Host instructions\n\n" + text
}

// compactionNotice returns the notice that keeps a model from stopping early to save space.
func compactionNotice(compacts bool) string {
	if !compacts {
		return ""
	}
	return "# Long sessions\n\nWhen this conversation becomes too long, a summary replaces its beginning and you go " +
		"on from there. Do not stop early, skip checks or leave work undone to save space."
}

// toolGuidance returns the Guidance of tools.
func toolGuidance(tools []tool.Tool) string {
	var b strings.Builder
	for _, t := range tools {
		if t.Guidance != "" {
			fmt.Fprintf(&b, "- `%s`: %s\n", t.Name, strings.TrimSpace(t.Guidance))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "# Notes on tools\n\n" + strings.TrimSpace(b.String())
}
