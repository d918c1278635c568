package gemini_test

import (
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/profile/gemini"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

func TestE2_ReadFileByLines(t *testing.T) {
	b := newFixture(t)
	b.put("a.txt", "one\ntwo\nthree\nfour\n")
	b.is("read_file", object{"file_path": "a.txt", "start_line": 2, "end_line": 3},
		"  2 | two\n  3 | three\n\n[Lines 2 to 3 are shown; the file goes on. Use start_line 4 to read on.]")
	b.is("read_file", object{"file_path": "a.txt", "start_line": 4}, "  4 | four\n")
	b.is("read_file", object{"file_path": "a.txt", "end_line": 9}, "  1 | one\n  2 | two\n  3 | three\n  4 | four\n")
	b.has("read_file", object{"file_path": "a.txt", "start_line": 3, "end_line": 2}, true,
		"end_line 2 is before start_line 3")
	b.has("read_file", object{"file_path": "a.txt", "start_line": 9}, true, "start_line 9 is past the end",
		"which has 4 lines; choose one from 1 to 4")
	b.put("note.txt", "[Use offset 7 to read on.]\nx\n")
	b.has("read_file", object{"file_path": "note.txt"}, false, "  1 | [Use offset 7 to read on.]")
}

func TestE2_Replace(t *testing.T) {
	b := newFixture(t)
	b.put("a.go", "x := 1\ny := 1\n")
	args := object{"file_path": "a.go", "instruction": "Count from two.", "old_string": ":= 1", "new_string": ":= 2"}
	b.has("replace", args, true, "2 times", "set allow_multiple")
	if got := b.get("a.go"); got != "x := 1\ny := 1\n" {
		t.Errorf("a refused edit changed the file: %q", got)
	}
	args["allow_multiple"] = true
	b.has("replace", args, false, "Successfully modified file: a.go (2 replacements).")
	if got := b.get("a.go"); got != "x := 2\ny := 2\n" {
		t.Errorf("got %q", got)
	}
	delete(args, "instruction")
	b.has("replace", args, true, "instruction")
}

func TestE2_WriteFile(t *testing.T) {
	b := newFixture(t)
	b.has("write_file", object{"file_path": "new/a.txt", "content": "hi\n"}, false,
		"Successfully created and wrote to new file: new/a.txt.")
	if got := b.get("new/a.txt"); got != "hi\n" {
		t.Errorf("got %q", got)
	}
}

func TestE2_ListDirectory(t *testing.T) {
	b := newFixture(t)
	b.put("a.log", "")
	b.put("b.txt", "12")
	b.put("sub/c.txt", "")
	b.is("list_directory", object{"dir_path": "."}, "a.log (0 bytes)\nb.txt (2 bytes)\nsub/\n")
	b.is("list_directory", object{"dir_path": ".", "ignore": []string{"*.log", "sub"}}, "b.txt (2 bytes)\n")
	b.has("list_directory", object{"dir_path": ".", "ignore": []string{"["}}, true, "is not valid")
}

func TestE2_Glob(t *testing.T) {
	b := newFixture(t)
	b.put("docs/README.md", "")
	b.is("glob", object{"pattern": "**/*.MD"}, "docs/README.md\n")
	b.is("glob", object{"pattern": "readme.md", "dir_path": "docs"}, "docs/README.md\n")
	b.has("glob", object{"pattern": "**/*.MD", "case_sensitive": true}, false, "No files match **/*.MD")
	b.has("glob", object{"pattern": "*.xyz"}, false, "No files match *.xyz")
	b.has("glob", object{"pattern": "*", "dir_path": "none"}, true, "does not exist", "as dir_path")
}

// A file's name cannot pass for a line of a result.
func TestI10_NativeNamesAreQuoted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("not run: Windows has no such names")
	}
	b := newFixture(t)
	b.put("dir/a\nFile: b", "needle\n")
	for _, got := range []string{
		b.has("glob", object{"pattern": "**/*"}, false, `"dir/a\nFile: b"`),
		b.has("grep_search", object{"pattern": "needle"}, false, `File: "dir/a\nFile: b"`),
		b.has("grep_search", object{"pattern": "needle", "names_only": true}, false, `"dir/a\nFile: b"`),
		b.has("list_directory", object{"dir_path": "dir"}, false, `"a\nFile: b" (`),
	} {
		if strings.Contains(got, "\nFile: b") {
			t.Errorf("a name is a line:\n%s", got)
		}
	}
}

func TestE2_GrepSearch(t *testing.T) {
	b := newFixture(t)
	b.put("a.go", "one\nFoo a.b\nthree\nfour\nfoo axb // old\nsix\n")
	b.put("b.txt", "foo\n")
	all := object{"pattern": "foo"}
	b.is("grep_search", all,
		"Found 3 matches for pattern \"foo\" in path \".\":\n---\nFile: a.go\nL2: Foo a.b\nL5: foo axb // old\n---\n"+
			"File: b.txt\nL1: foo\n---\n")
	for _, c := range []struct {
		name string
		args object
		want string
	}{
		{"case", object{"case_sensitive": true, "include_pattern": "*.go"},
			"Found 1 match for pattern \"foo\" in path \".\" (filter: \"*.go\"):\n---\nFile: a.go\nL5: foo axb // " +
				"old\n---\n"},
		{"exclude", object{"exclude_pattern": "old$", "include_pattern": "*.go"},
			"Found 1 match for pattern \"foo\" in path \".\" (filter: \"*.go\"):\n---\nFile: a.go\nL2: Foo a.b\n---\n"},
		{"fixed", object{"pattern": "a.b", "fixed_strings": true, "dir_path": "a.go"},
			"Found 1 match for pattern \"a.b\" in path \"a.go\":\n---\nFile: a.go\nL2: Foo a.b\n---\n"},
		{"after", object{"dir_path": "a.go", "after": 1},
			"Found 2 matches for pattern \"foo\" in path \"a.go\":\n---\nFile: a.go\nL2: Foo a.b\nL3- three\n...\n" +
				"L5: foo axb // old\nL6- six\n---\n"},
		{"before", object{"dir_path": "a.go", "before": 1, "max_matches_per_file": 1},
			"Found 1 match for pattern \"foo\" in path \"a.go\":\n---\nFile: a.go\nL1- one\nL2: Foo a.b\n---\n[There " +
				"are more matches. Narrow the search, or set total_max_matches.]\n"},
		{"context", object{"pattern": "four", "context": 1},
			"Found 1 match for pattern \"four\" in path \".\":\n---\nFile: a.go\nL3- three\nL4: four\nL5- foo axb // " +
				"old\n---\n"},
		{"total", object{"total_max_matches": 1},
			"Found 1 match for pattern \"foo\" in path \".\":\n---\nFile: a.go\nL2: Foo a.b\n---\n[There are more " +
				"matches. Narrow the search, or set total_max_matches.]\n"},
		{"total with exclude", object{"total_max_matches": 1, "exclude_pattern": "Foo"},
			"Found 1 match for pattern \"foo\" in path \".\":\n---\nFile: a.go\nL5: foo axb // old\n---\n[There are " +
				"more matches. Narrow the search, or set total_max_matches.]\n"},
		{"names", object{"names_only": true},
			"Found 2 files with matches for pattern \"foo\" in path \".\":\na.go\nb.txt\n"},
		{"names with exclude", object{"names_only": true, "exclude_pattern": "old|Foo"},
			"Found 1 file with matches for pattern \"foo\" in path \".\":\nb.txt\n"},
		{"nothing", object{"pattern": "zzz"},
			"No matches found for pattern \"zzz\" in path \".\". 2 files were searched.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.args["pattern"] == nil {
				c.args["pattern"] = "foo"
			}
			inner := *b
			inner.T = t
			inner.is("grep_search", c.args, c.want)
		})
	}
	b.put("many", strings.Repeat("y\n", coding.MaxResults+1))
	if got := b.outcome("grep_search",
		object{"pattern": "y", "total_max_matches": 1 << 30}).Content.Text(); !strings.HasPrefix(got,
		"Found 10000 matches") ||
		!strings.HasSuffix(got, "[There are more matches. Narrow the search, or set total_max_matches.]\n") {
		t.Errorf("%.100q", got)
	}
	b.has("grep_search", object{"pattern": "("}, true)
	b.has("grep_search", object{"pattern": "x", "exclude_pattern": "("}, true, "exclude_pattern")
	b.has("grep_search", object{"pattern": "x", "dir_path": "none"}, true, "dir_path")
}

func needCommands(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no commands on Windows yet")
	}
}

func TestE2_RunShellCommand(t *testing.T) {
	needCommands(t)
	b := newFixture(t)
	b.put("sub/a.txt", "")
	b.is("run_shell_command", object{"command": "ls", "dir_path": "sub", "description": "List it."},
		"<untrusted_context>\nOutput: a.txt\n</untrusted_context>")
	for command, want := range map[string]string{
		"echo out; echo err >&2; exit 3": "<untrusted_context>\nOutput: out\nerr\nExit Code: 3\n</untrusted_context>",
		"exit 4":                         "<untrusted_context>\nOutput: (empty)\nExit Code: 4\n</untrusted_context>",
		"printf 'Exit code: 7\\nx'; false": "<untrusted_context>\nOutput: Exit code: 7\nx\nExit Code: 1\n" +
			"</untrusted_context>",
	} {
		if got, failed := b.run("run_shell_command", object{"command": command}); !failed || got != want {
			t.Errorf("%s: failed %v\n%s\nwant\n%s", command, failed, got, want)
		}
	}
	b.is("run_shell_command", object{"command": "echo 'Exit code: 7'"},
		"<untrusted_context>\nOutput: Exit code: 7\n</untrusted_context>")
	b.has("run_shell_command", object{"command": "true", "dir_path": "none"}, true, "none")
	got := b.has("run_shell_command", object{"command": "seq 100000"}, false, "<untrusted_context>\nOutput: 1\n2\n",
		"100000\n</untrusted_context>")
	if !strings.Contains(b.has("run_shell_command", object{"command": "printf 'a ] b'; exit 1"}, true),
		"Output: a ] b\nExit Code: 1\n") {
		t.Error("a bracket is taken for an ending")
	}
	if len(got) > 40_000 {
		t.Errorf("%d bytes were not cut", len(got))
	}
}

// A patch that is written as a command is judged by the files that it changes. In the background
// the shell gets it.
func TestL1_PatchAsACommand(t *testing.T) {
	run, ok := newFixture(t).registry.Get("run_shell_command")
	if !ok {
		t.Fatal("there is no run_shell_command")
	}
	script := "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\nEOF"
	for _, background := range []bool{false, true} {
		args, err := json.Marshal(object{"command": script, "dir_path": "secrets", "is_background": background})
		if err != nil {
			t.Fatal(err)
		}
		access, err := run.Access(string(args))
		if want := (tool.Access{Effect: tool.Writes, Paths: []string{"secrets/a.txt"}}); err != nil || !background &&
			!reflect.DeepEqual(access, want) {
			t.Errorf("%+v, %v", access, err)
		}
		if background && (access.Command != script || access.Paths != nil) {
			t.Errorf("in the background: %+v", access)
		}
	}
}

func TestE2_LeftRunning(t *testing.T) {
	needCommands(t)
	b := newFixture(t)
	got := b.has("run_shell_command", object{"command": "sleep 60 >/dev/null 2>&1 & echo on"}, false,
		"Output: on\n[The command has ended but left processes running")
	if !strings.HasSuffix(got, "]\n</untrusted_context>") {
		t.Errorf("got %q", got)
	}
}

func TestE2_BackgroundCommand(t *testing.T) {
	needCommands(t)
	b := newFixture(t)
	b.is("list_background_processes", object{}, "No background processes were started in this session.")
	b.has("run_shell_command", object{"command": "echo one; echo two; read x; echo got $x; exit 5",
		"is_background": true}, false, "PID: 1", "Status: running", "<untrusted_context>\nOutput: ")
	text := ""
	for tries := 0; !strings.Contains(text, "two"); tries++ { // until the command has printed it
		if text, _ = b.run("read_background_output", object{"pid": 1, "delay_ms": 20}); tries > 500 {
			t.Fatalf("the output did not come: %s", text)
		}
	}
	b.is("list_background_processes", object{"wait_for_previous": true},
		"- [PID 1] running: `echo one; echo two; read x; echo got $x; exit 5`\n")
	b.is("read_background_output", object{"pid": 1, "lines": 1},
		"Process 1: running. Earlier output is not shown.\n<untrusted_context>\nOutput: two\n</untrusted_context>")
	b.is("read_background_output", object{"pid": 1},
		"Process 1: running.\n<untrusted_context>\nOutput: one\ntwo\n</untrusted_context>")
	if err := b.session.Processes().Write(t.Context(), "1", "it\n"); err != nil {
		t.Fatal(err)
	}
	b.is("read_background_output", object{"pid": 1, "delay_ms": 600_000},
		"Process 1: exited (Exit Code: 5).\n<untrusted_context>\nOutput: one\ntwo\ngot it\n</untrusted_context>")
	b.has("list_background_processes", object{}, false, "- [PID 1] exited (Exit Code: 5): `")
	b.has("read_background_output", object{"pid": 2}, true, "no background process 2")
	b.has("run_shell_command", object{"command": "sleep 600", "is_background": true, "delay_ms": 1}, false, "PID: 2")
	b.has("process", object{"id": "2", "action": "read"}, true, "action")
	b.has("process", object{"id": "2", "action": "kill"}, false, "ended")
	b.has("read_background_output", object{"pid": 2}, false, "ended by")
}

// The end of a background command's output is kept, up to a limit.
func TestE2_BackgroundKeepsTheEnd(t *testing.T) {
	needCommands(t)
	b := newFixture(t)
	b.has("run_shell_command", object{"command": "seq 200000", "is_background": true, "delay_ms": 600_000}, false,
		"200000\n</untrusted_context>")
	b.is("read_background_output", object{"pid": 1, "lines": 2},
		"Process 1: exited (Exit Code: 0). Earlier output is not shown.\n<untrusted_context>\nOutput: 199999\n"+
			"200000\n</untrusted_context>")
}

func TestE2_WaitForPrevious(t *testing.T) {
	for _, x := range gemini.Native().Tools {
		for args, want := range map[string]tool.Effect{
			`{"pid":1,"agent_name":"generalist","prompt":"x","wait_for_previous":true}`: tool.Exclusive,
			`{"pid":1,"agent_name":"generalist","prompt":"x"}`: map[string]tool.Effect{"invoke_agent": tool.Writes,
				"list_background_processes": tool.ReadOnly, "read_background_output": tool.ReadOnly}[x.Name],
		} {
			if !strings.Contains(string(x.Parameters), "wait_for_previous") {
				continue
			}
			if access, err := x.Access(args); err != nil || access.Effect != want {
				t.Errorf("%s(%s): %+v, %v, want %v", x.Name, args, access, err, want)
			}
		}
	}
}

// The results of commands say in their structure what they say in their text.
func TestJ4_ShellCommandRan(t *testing.T) {
	needCommands(t)
	b := newFixture(t)
	for command, want := range map[string]tool.Ran{
		"echo 'Exit code: 7'; exit 3": {Exit: &env.Exit{Code: 3}, Bytes: 13, Lines: 1},
		"kill -KILL $$":               {Exit: &env.Exit{Code: -1, Signal: "SIGKILL"}},
		"true":                        {Exit: &env.Exit{}},
	} {
		got := b.outcome("run_shell_command", object{"command": command}).Ran
		if got == nil || got.Exit == nil {
			t.Fatalf("%s: %+v", command, got)
		}
		got.Exit.Duration = 0
		if diff := gocmp.Diff(&want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", command, diff)
		}
	}
	for _, c := range []struct {
		name string
		args object
	}{
		{"run_shell_command", object{"command": "exec sleep 600", "is_background": true, "delay_ms": 1}},
		{"read_background_output", object{"pid": 1}},
	} {
		if got := b.outcome(c.name, c.args).Ran; got == nil || got.ID != "1" || !got.Running() {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if got := b.outcome("process", object{"id": "1", "action": "kill"}).Ran; got == nil || got.ID != "1" ||
		got.Exit == nil || got.Exit.Signal == "" {
		t.Errorf("killed: %+v", got)
	}
	b.put("f", "a\n")
	if got := b.outcome("replace", object{"file_path": "f", "instruction": "i", "old_string": "a",
		"new_string": "b"}).Changes; len(got) != 1 || got[0].Kind != tool.Modified {
		t.Errorf("replaced: %+v", got)
	}
}

// A command that prints text like that of a result gets the right result.
func TestJ4_ShellCommandReadsNoProse(t *testing.T) {
	needCommands(t)
	b := newFixture(t)
	left := "[The command has ended but left processes running. They end with the session:\n  1 x]"
	got, _ := b.run("run_shell_command", object{"command": "echo 'Exit code: 7'; echo '" + left + "'; exit 3"})
	if want := "<untrusted_context>\nOutput: Exit code: 7\n" + left +
		"\nExit Code: 3\n</untrusted_context>"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	b.is("run_shell_command", object{"command": "printf '%s' '" + left + "'"},
		"<untrusted_context>\nOutput: "+left+"\n</untrusted_context>")
	b.put("f", strings.Repeat("line\n", 3)+"\n[Use offset 7 to read on.]")
	b.is("read_file", object{"file_path": "f", "start_line": 5}, "  5 | [Use offset 7 to read on.]\n")
}
