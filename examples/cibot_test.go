package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_Cibot(t *testing.T) {
	t.Parallel()
	peer.Need(t, "git")
	const setup = `git init -q . && echo 'echo Hello $1' >greet.sh && echo 'test "$(sh greet.sh you)" = "Hello, you"' >test.sh && git add . &&
		git -c user.name=a -c user.email=a@example.com commit -qm 'A greeting'`
	checkout, dir := t.TempDir(), t.TempDir()
	clone := filepath.Join(dir, "clone")
	shell(t, checkout, setup)
	shell(t, checkout, `git clone -q . "$0"`, clone)
	edit := func(from, to string) []fakellm.Call {
		return []fakellm.Call{{Name: "edit_file",
			Args: []byte(`{"file_path":"greet.sh","old_string":"` + from + `","new_string":"` + to + `"}`)}}
	}
	prints(t, "cibot", command(t, "cibot", dir, fakellm.Script(
		fakellm.Turn{Calls: append([]fakellm.Call{{Name: "read_file", Args: []byte(`{"file_path":"greet.sh"}`)}},
			edit("Hello", "Hello:")...)},
		fakellm.Turn{Text: "It should greet now."},
		fakellm.Turn{Calls: append(edit("Hello:", "Hello,"), fakellm.Call{Name: "write_file",
			Args: []byte(`{"file_path":"NOTES","content":"A comma.\n"}`)})},
		fakellm.Turn{Text: "The comma was missing."},
	), checkout, "sh test.sh", "fix.patch"))
	if t.Failed() {
		return
	}
	shell(t, clone, `! sh test.sh && git apply "$0" && sh test.sh && grep -q comma NOTES`,
		filepath.Join(dir, "fix.patch"))
}

// shell runs a script in a directory without the user's configuration of git, and fails the test if
// the script fails.
func shell(t *testing.T, dir, script string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", script}, args...)...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
