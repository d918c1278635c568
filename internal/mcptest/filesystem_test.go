package mcptest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/tool"
)

// Every tool of server-filesystem, once. It speaks stdio only.
func TestM5_FilesystemTools(t *testing.T) {
	t.Parallel()
	program := peer.Need(t, "mcp-server-filesystem")
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	e := localAt(t, root)
	for name, data := range map[string]string{"a.txt": "one\ntwo\nthree\n", "b.txt": "other\n",
		"dir/pixel.png": llmtest.PNG} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := ready(t, mcp.Options{Servers: []mcp.Server{{Name: "files", Command: program, Args: []string{root},
		Required: true, Trusted: true, StartTimeout: slow}},
		Env: func(mcp.Server) (env.Environment, error) { return e, nil }})
	path := func(name string) string { return filepath.Join(root, name) }
	used := map[string]bool{}
	for _, c := range []struct {
		tool    string
		args    map[string]any
		want    string
		images  int
		isError bool
	}{
		{"read_file", map[string]any{"path": path("a.txt")}, "one\ntwo\nthree\n", 0, false},
		{"read_text_file", map[string]any{"path": path("a.txt"), "head": 1}, "one", 0, false},
		{"read_multiple_files", map[string]any{"paths": []string{path("a.txt"), path("b.txt")}}, "other", 0, false},
		{"read_media_file", map[string]any{"path": path("dir/pixel.png")}, "", 1, false},
		{"list_directory", map[string]any{"path": root}, "[FILE] a.txt\n[FILE] b.txt\n[DIR] dir", 0, false},
		{"list_directory_with_sizes", map[string]any{"path": root}, "Total: 2 files, 1 directories", 0, false},
		{"directory_tree", map[string]any{"path": root}, `"pixel.png"`, 0, false},
		{"search_files", map[string]any{"path": root, "pattern": "**/*.png"}, path("dir/pixel.png"), 0, false},
		{"get_file_info", map[string]any{"path": path("a.txt")}, "size: 14", 0, false},
		{"list_allowed_directories", map[string]any{}, root, 0, false},
		{"create_directory", map[string]any{"path": path("new")}, "Successfully", 0, false},
		{"write_file", map[string]any{"path": path("new/c.txt"), "content": "drei\n"}, "Successfully", 0, false},
		{"edit_file", map[string]any{"path": path("new/c.txt"),
			"edits": []map[string]string{{"oldText": "drei", "newText": "three"}}}, "+three", 0, false},
		{"move_file", map[string]any{"source": path("new/c.txt"), "destination": path("d.txt")}, "Successfully", 0,
			false},
		{"read_text_file", map[string]any{"path": "/etc/passwd"}, "outside allowed directories", 0, true},
		{"read_text_file", map[string]any{"path": path("nothing")}, "ENOENT", 0, true},
		{"write_file", map[string]any{"path": path("x")}, "content", 0, true},
	} {
		args, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		used[c.tool] = true
		o := call(t.Context(), t, s, "mcp__files__"+c.tool, string(args), tool.Call{})
		if text := o.Model.Text(); !strings.Contains(text, c.want) || len(images(o.Model)) != c.images ||
			o.IsError != c.isError {
			t.Errorf("%s %s = %q, %d images, error %v; want %q", c.tool, args, text, len(images(o.Model)), o.IsError,
				c.want)
		}
	}
	if data, err := os.ReadFile(path("d.txt")); err != nil || string(data) != "three\n" {
		t.Errorf("the file is %q, %v", data, err)
	}
	for _, one := range s.Status()[0].Tools {
		name := strings.TrimPrefix(one.Name, "mcp__files__")
		if !used[name] {
			t.Errorf("%s was not called", name)
		}
		want := tool.Exclusive
		if strings.HasPrefix(name, "read_") || strings.HasPrefix(name, "list_") || strings.HasPrefix(name, "get_") ||
			name == "search_files" || name == "directory_tree" {
			want = tool.ReadOnly
		}
		if a, err := one.Access(`{}`); err != nil || a.Effect != want {
			t.Errorf("%s is %v, %v, want %v", name, a.Effect, err, want)
		}
	}
}
