package coding

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/openai"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

func TestC6_ApplyPatchTool(t *testing.T) {
	b := newBench(t)
	b.put("a.sh", "echo one\n")
	b.put("old.txt", "x\n")
	patch := strings.Join([]string{"*** Begin Patch", "*** Update File: a.sh", "@@", "-echo one", "+echo two", "*** Add File: new/n.txt", "+n",
		"*** Update File: old.txt", "*** Move to: moved.txt", "-x", "+y", "*** End Patch"}, "\n")
	o := b.run(ApplyPatch(), object{"patch": patch})
	if got := o.Content.Text(); o.IsError || !strings.Contains(got, "M a.sh\nA new/n.txt\nR old.txt -> moved.txt\n") {
		t.Fatalf("%v %s", o.IsError, got)
	}
	for name, want := range map[string]string{"a.sh": "echo two\n", "new/n.txt": "n\n", "moved.txt": "y\n"} {
		if got := b.get(name); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	o = b.run(ApplyPatch(), object{"patch": strings.Replace(patch, "-echo one", "-echo three", 1)})
	if got := o.Content.Text(); !o.IsError || !strings.Contains(got, "a.sh, hunk 1") {
		t.Errorf("%v %s", o.IsError, got)
	}
	o = b.run(ApplyPatch(), object{"patch": "*** Begin Patch\n*** Add File: ../out.txt\n+x\n*** End Patch"})
	if !o.IsError {
		t.Error("a file outside was written")
	}
}

func TestC6_PatchAccess(t *testing.T) {
	access, err := ApplyPatch().Access(`{"patch":"*** Begin Patch\n*** Update File: a\n*** Move to: b\n-1\n+2\n*** Delete File: c\n*** End Patch"}`)
	if err != nil || strings.Join(access.Paths, " ") != "a b c" {
		t.Errorf("%+v, %v", access, err)
	}
}

// A model that writes the patch as for a shell means the same. A directory that a shell could not change to is none here either.
func TestC6_ApplyPatchTakesAnInvocation(t *testing.T) {
	b := newBench(t)
	b.put("sub dir/a.txt", "one\n")
	script := func(dir string) string {
		return "cd " + dir + " && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.txt\n-one\n+two\n*** Add File: b.txt\n+b\n*** End Patch\nEOF\n"
	}
	if got := b.ok(ApplyPatch(), object{"patch": script(`"sub dir"`)}); !strings.Contains(got, "M sub dir/a.txt\nA sub dir/b.txt\n") {
		t.Error(got)
	}
	if a, n := b.get("sub dir/a.txt"), b.get("sub dir/b.txt"); a != "two\n" || n != "b\n" {
		t.Errorf("a.txt %q, b.txt %q", a, n)
	}
	add := "cd %s && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n\n+n\n*** End Patch\nEOF"
	b.fails(ApplyPatch(), object{"patch": strings.Replace(add, "%s", "missing", 1)}, "cd missing: ")
	b.fails(ApplyPatch(), object{"patch": "cd missing && apply_patch <<EOF\n*** Begin Patch\n*** Add File: n\n+$n\n*** End Patch\nEOF"}, "cd missing: ")
	b.fails(ApplyPatch(), object{"patch": strings.Replace(add, "%s", "'sub dir/a.txt'", 1)}, "it is no directory")
	b.fails(ApplyPatch(), object{"patch": strings.Replace(add, "%s", "..", 1)})
	if access := patchAccess(script("x")); strings.Join(access.Paths, " ") != "x/a.txt x/b.txt" {
		t.Errorf("%+v", access)
	}
}

// The free-form tool in a session over the wire format that has such tools: its patch comes as it is, and so does its result.
func TestC6_ApplyPatchFreeform(t *testing.T) {
	b := newBench(t)
	b.put("a.txt", "say \"one\"\n")
	const text = "*** Begin Patch\n*** Update File: a.txt\n@@\n-say \"one\"\n+say \\two\\\n*** End Patch\n"
	calls := func(raw string) fakellm.Turn {
		return fakellm.Turn{Calls: []fakellm.Call{{Name: "apply_patch", Raw: raw}}}
	}
	fake := fakellm.New(fakellm.Script(calls(text), calls("a.txt"), fakellm.Turn{Text: "Done."}), fakellm.Options{})
	server := httptest.NewServer(fake)
	defer server.Close()
	provider, err := openai.New(openai.Options{APIKey: "key", BaseURL: server.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	var asked []tool.Request
	s, err := agent.New(context.Background(), agent.Options{
		Client:  &llm.Client{Providers: []llm.Provider{provider}},
		Profile: profile.Profile{Name: "test", Provider: "openai", Model: "gpt-6-sol", Tools: []tool.Tool{ApplyPatchFreeform()}},
		Env:     b.env,
		Hooks: agent.Hooks{Authorize: func(_ context.Context, req tool.Request) (tool.Decision, error) {
			asked = append(asked, req)
			return tool.Decision{Verdict: tool.Allow}, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(context.Background(), "Change it."); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := b.get("a.txt"); got != "say \\two\\\n" {
		t.Errorf("a.txt holds %q", got)
	}
	if len(asked) != 2 || strings.Join(asked[0].Access.Paths, " ") != "a.txt" && asked[0].Access.Paths[0] != filepath.Join(b.dir, "a.txt") {
		t.Errorf("authorized %+v", asked)
	}
	requests := fake.Requests()
	if got := string(requests[0].Body); !strings.Contains(got, `"type":"custom","name":"apply_patch"`) || !strings.Contains(got, `"syntax":"lark"`) {
		t.Errorf("the tool is offered as %s", got)
	}
	for i, want := range []string{"M a.txt", "a patch begins with"} {
		got := string(requests[i+1].Body)
		if !strings.Contains(got, "custom_tool_call_output") || !strings.Contains(got, want) {
			t.Errorf("result %d does not say %q: %s", i, want, got)
		}
	}
}
