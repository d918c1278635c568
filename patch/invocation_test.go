package patch_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/patch"
)

const hi = "*** Begin Patch\n*** Add File: foo\n+hi\n*** End Patch\n"

// invocations holds scripts with the directory and the patch that a real shell would pass to a
// command.
var invocations = []struct{ name, script, dir, patch string }{
	{"single quotes", "apply_patch <<'EOF'\n" + hi + "EOF", "", hi},
	{"double quotes", "apply_patch <<\"EOF\"\n" + hi + "EOF\n", "", hi},
	{"no quotes", "apply_patch <<EOF\n" + hi + "EOF", "", hi},
	{"the other name, white space around", "\n  applypatch   << 'PATCH_1'  \n" + hi + "PATCH_1\n\n", "", hi},
	{"no space", "apply_patch<<'EOF'\n" + hi + "EOF", "", hi},
	{"what a shell would expand, quoted", "apply_patch <<'EOF'\n+$HOME `id` \\\\ \"x\"\nEOF", "",
		"+$HOME `id` \\\\ \"x\"\n"},
	{"an empty line, and the delimiter within a line", "apply_patch <<'EOF'\n\n+EOF\n EOF\nEOF\n", "",
		"\n+EOF\n EOF\n"},
	{"nothing", "apply_patch <<'EOF'\nEOF", "", ""},
	{"an argument", "apply_patch '" + hi + "'", "", hi},
	{"an argument in double quotes", "apply_patch \"" + hi + "\"", "", hi},
	{"cd", "cd sub/dir && apply_patch <<'EOF'\n" + hi + "EOF", "sub/dir", hi},
	{"cd with quotes", "cd 'a \"b' && apply_patch <<'EOF'\n" + hi + "EOF", `a "b`, hi},
	{"cd with double quotes", "cd \"sub dir\"&&\napply_patch <<'EOF'\n" + hi + "EOF", "sub dir", hi},
	{"cd to what looks special", "cd '~$x*' && apply_patch <<'EOF'\n" + hi + "EOF", "~$x*", hi},
	{"cd up", "cd ./sub/../.x && apply_patch <<'EOF'\n" + hi + "EOF", "./sub/../.x", hi},
}

func TestC6_Invocations(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Logf("not compared with a real shell: %v", err)
	}
	for _, tt := range invocations {
		t.Run(tt.name, func(t *testing.T) {
			inv, ok := patch.FromScript(tt.script)
			if !ok || inv.Patch != tt.patch || inv.Dir != tt.dir {
				t.Fatalf("%v, dir %q, patch %q", ok, inv.Dir, inv.Patch)
			}
			if bash == "" {
				return
			}
			root := t.TempDir()
			for _, dir := range []string{"sub", tt.dir} {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			const command = `apply_patch() { pwd; if [ $# -gt 0 ]; then printf %s "$1"; else cat; fi; }` + "\n" +
				`applypatch() { apply_patch "$@"; }` + "\n"
			cmd := exec.Command(bash, "-c", command+tt.script)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			if want := filepath.Join(root, tt.dir) + "\n" + tt.patch; err != nil || string(out) != want {
				t.Errorf("a shell gives %q (%v), want %q", out, err, want)
			}
		})
	}
}

func TestC6_NoInvocations(t *testing.T) {
	here := " <<'EOF'\n" + hi + "EOF"
	for _, script := range []string{
		"", "apply_patch", "apply_patch --help", "apply_patch < file", "apply_patch_all" + here, "xapply_patch" + here,
		"./apply_patch" + here,
		"apply_patch -v" + here, "echo x; apply_patch" + here, "x=1 apply_patch" + here, "# apply_patch" + here,
		"! apply_patch" + here,
		"cat" + here + " | apply_patch", "cat <<'EOF' | apply_patch\n" + hi + "EOF",
		"apply_patch <<'EOF' | tee log\n" + hi + "EOF",
		"apply_patch <<'EOF' && rm -rf x\n" + hi + "EOF", "apply_patch <<'EOF' > log\n" + hi + "EOF",
		"apply_patch <<-'EOF'\n" + hi + "EOF",
		"apply_patch <<<'EOF'\n" + hi + "EOF", "apply_patch <<'EOF'\n" + hi, "apply_patch <<'EOF'\n" + hi + "EOF2",
		"apply_patch <<'EOF'\n" + hi + "EOF\nrm x",
		"apply_patch" + here + "\n" + "apply_patch" + here, "apply_patch <<'EOF\"\n" + hi + "EOF",
		"apply_patch <<EOF'\n" + hi + "EOF",
		"apply_patch <<EOF\n+$HOME\nEOF", "apply_patch <<EOF\n+`id`\nEOF", "apply_patch <<EOF\n+\\\nEOF",
		"apply_patch <<\\EOF\n" + hi + "EOF",
		"apply_patch \"$(cat" + here + "\n)\"", "apply_patch \"$x\"", "apply_patch '" + hi + "' x",
		"apply_patch'" + hi + "'", "apply_patch " + hi,
		"cd x; apply_patch" + here, "cd x\napply_patch" + here, "cd x || apply_patch" + here,
		"cd x | apply_patch" + here, "cd x & apply_patch" + here,
		"cd && apply_patch" + here, "cd x y && apply_patch" + here, "cd x && cd y && apply_patch" + here,
		"(cd x && apply_patch" + here + ")",
		"cd ~ && apply_patch" + here, "cd ~/x && apply_patch" + here, "cd $x && apply_patch" + here,
		"cd \"$x\" && apply_patch" + here,
		"cd x* && apply_patch" + here, "cd {x,y} && apply_patch" + here, "cd - && apply_patch" + here,
		"cd '-' && apply_patch" + here, "cd -P x && apply_patch" + here,
		"cd '' && apply_patch" + here, "cd a\\ b && apply_patch" + here, "cd `x` && apply_patch" + here,
		"pushd x && apply_patch" + here, "cdx && apply_patch" + here,
	} {
		if inv, ok := patch.FromScript(script); ok {
			t.Errorf("%q was taken for an invocation: %+v", script, inv)
		}
	}
	for _, argv := range [][]string{nil, {"apply_patch"}, {"apply_patch", hi, "x"}, {"/bin/apply_patch", hi},
		{"bash", "apply_patch" + here},
		{"bash", "-x", "apply_patch" + here}, {"bash", "-c", "apply_patch" + here, "x"},
		{"env", "-c", "apply_patch" + here}, {"apply_patch", "-c", hi}} {
		if inv, ok := patch.FromArgv(argv); ok {
			t.Errorf("%q was taken for an invocation: %+v", argv, inv)
		}
	}
}

// Parse accepts a whole invocation. It uses the directory and expands nothing.
func TestC6_ParseTakesAnInvocation(t *testing.T) {
	body := wrap("*** Update File: a", "*** Move to: b", "-1", "+$x", "*** Add File: /abs", "+n") + "\nEOF"
	for _, tt := range []struct{ text, want string }{
		{"cd d/e && apply_patch <<EOF\n" + body, "d/e/a d/e/b /abs"},
		{"cd ./d/.. && apply_patch <<'EOF'\n" + body, "a b /abs"},
		{"apply_patch <<EOF\n" + body, "a b /abs"},
		{"<<EOF\n" + body, "a b /abs"},
		{"```sh\r\ncd d && apply_patch <<'EOF'\r\n" + strings.ReplaceAll(body, "\n", "\r\n") + "\r\n```\r\n",
			"d/a d/b /abs"},
	} {
		ops, err := patch.Parse(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if got := ops[0].Path + " " + ops[0].MoveTo + " " + ops[1].Path; got != tt.want ||
			ops[0].Hunks[0].Lines[1].Text != "$x" {
			t.Errorf("%q: paths %s, want %s; %+v", tt.text, got, tt.want, ops[0].Hunks)
		}
	}
	if _, err := patch.Parse("cd link && apply_patch <<'EOF'\n" + wrap("*** Add File: ../a",
		"+x") + "\nEOF"); err == nil || !strings.Contains(err.Error(), "goes up") {
		t.Errorf("a path that leads up from a directory: %v", err)
	}
}

func TestCorpus_Invocation(t *testing.T) {
	data, err := os.ReadFile("../../shared/corpora/apply_patch/cases.jsonl")
	if errors.Is(err, os.ErrNotExist) {
		t.Skipf("the case collection is not beside this checkout: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for line := range strings.Lines(string(data)) {
		var c struct {
			ID           string
			Argv         []string
			IsApplyPatch bool `json:"is_apply_patch"`
			Workdir      string
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		if c.Argv == nil {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			inv, ok := patch.FromArgv(c.Argv)
			if ok != c.IsApplyPatch || ok && (inv.Dir != c.Workdir || inv.Patch != hi) {
				t.Errorf("%v, dir %q, patch %q", ok, inv.Dir, inv.Patch)
			}
		})
	}
	if ran == 0 {
		t.Error("there are no such cases")
	}
}
