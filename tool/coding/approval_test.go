package coding

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// changes holds calls of different tools that change the file f.
var changes = []struct {
	tool tool.Tool
	args object
}{
	{WriteFile(), object{"file_path": "f", "content": "2\n"}},
	{EditFile(), object{"file_path": "./f", "old_string": "1", "new_string": "2"}},
	{ApplyPatch(), object{"patch": "*** Begin Patch\n*** Update File: f\n-1\n+2\n*** End Patch"}},
	{Shell(0), object{"command": "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: f\n-1\n+2\n*** End " +
		"Patch\nEOF"}},
}

// authorized runs a call as a session with a permission hook does.
func (b *fixture) authorized(t tool.Tool, args any, hook tool.Authorize) *tool.Outcome {
	b.Helper()
	r, err := tool.NewRegistry(t)
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	return r.Run(b.Context(), llm.ToolCall{ID: "c1", Name: t.Name, Args: string(text)},
		tool.Call{Env: b.env, Session: new(tool.Plain)}, hook)
}

// A read-only file is changed only after an approval, and stays read-only.
func TestI6_ReadOnlyFilesNeedAnApproval(t *testing.T) {
	for _, c := range changes {
		t.Run(c.tool.Name, func(t *testing.T) {
			b := newFixture(t)
			b.put("f", "1\n")
			if err := os.Chmod(filepath.Join(b.dir, "f"), 0o444); err != nil {
				t.Fatal(err)
			}
			var asked []tool.Guarded
			ask := func(v tool.Verdict) tool.Authorize {
				return func(_ context.Context, req tool.Request) (tool.Decision, error) {
					asked = append(asked, req.Access.Guarded...)
					return tool.Decision{Verdict: v}, nil
				}
			}
			for name, hook := range map[string]tool.Authorize{"no hook": nil, "nobody there": ask(tool.Ask),
				"denied": ask(tool.Deny)} {
				if out := b.authorized(c.tool, c.args, hook); !out.IsError || b.get("f") != "1\n" {
					t.Errorf("%s: %s, and the file is %q", name, out.Model.Text(), b.get("f"))
				} else if name != "denied" && !strings.Contains(out.Model.Text(),
					"f: the file is read-only (mode -r--r--r--)") {
					t.Errorf("%s: %s", name, out.Model.Text())
				}
			}
			if out := b.authorized(c.tool, c.args, ask(tool.Allow)); out.IsError || b.get("f") != "2\n" {
				t.Errorf("approved: %s, and the file is %q", out.Model.Text(), b.get("f"))
			}
			if info, err := os.Stat(filepath.Join(b.dir, "f")); err != nil || info.Mode().Perm() != 0o444 {
				t.Errorf("%v, %v", info, err)
			}
			if len(asked) != 3 || !strings.HasSuffix(asked[2].Path, "/f") || !strings.Contains(asked[2].Why,
				"read-only") {
				t.Errorf("asked about %+v", asked)
			}
		})
	}
}

// A file that becomes read-only after the hook's decision is not changed, because the hook did not
// know.
func TestI6_ReadOnlySinceTheDecision(t *testing.T) {
	for _, c := range changes {
		b := newFixture(t)
		b.put("f", "1\n")
		out := b.authorized(c.tool, c.args, func(context.Context, tool.Request) (tool.Decision, error) {
			return tool.Decision{Verdict: tool.Allow}, os.Chmod(filepath.Join(b.dir, "f"), 0o444)
		})
		if text := out.Model.Text(); !out.IsError || !strings.Contains(text, "read-only") || b.get("f") != "1\n" {
			t.Errorf("%s: %s, and the file is %q", c.tool.Name, text, b.get("f"))
		}
	}
}

// An approval covers only the files that the hook was asked about.
func TestI2_AnApprovalIsForItsFiles(t *testing.T) {
	b := newFixture(t)
	b.env = env.Protect(b.env, env.DefaultProtection())
	for _, c := range []struct {
		tool tool.Tool
		args object
	}{
		{WriteFile(), object{"file_path": ".mcp.json", "content": "{}"}},
		{ApplyPatch(), object{"patch": "*** Begin Patch\n*** Add File: x\n+x\n*** Add File: .mcp.json\n+{}\n*** " +
			"End Patch"}},
	} {
		if out := b.authorized(c.tool, c.args, nil); !out.IsError || !strings.Contains(out.Model.Text(),
			".mcp.json can start programs") {
			t.Errorf("%s: %s", c.tool.Name, out.Model.Text())
		}
		if list, err := os.ReadDir(b.dir); err != nil || len(list) != 0 {
			t.Errorf("%s left %v, %v", c.tool.Name, list, err)
		}
	}
	allow := func(context.Context, tool.Request) (tool.Decision, error) {
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	if out := b.authorized(changes[0].tool, object{"file_path": ".mcp.json", "content": "{}"}, allow); out.IsError ||
		b.get(".mcp.json") != "{}" {
		t.Error(out.Model.Text())
	}
	// A hook that edits the arguments approves of what the edited call changes.
	out := b.authorized(WriteFile(), object{"file_path": "x", "content": "{}"},
		func(context.Context, tool.Request) (tool.Decision, error) {
			return tool.Decision{Verdict: tool.Allow, Args: `{"file_path":".claude/x","content":"y"}`}, nil
		})
	if out.IsError || b.get(".claude/x") != "y" {
		t.Error(out.Model.Text())
	}
	out = b.authorized(WriteFile(), object{"file_path": ".git/x", "content": "{}"}, allow)
	if !out.IsError || !strings.Contains(out.Model.Text(), "the file is protected") {
		t.Error(out.Model.Text())
	}
}
