//go:build unix

package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/script"
	"github.com/attractor-go/attractor/internal/seed"
)

// shells lists the shells that run scripts.
var shells = [][]string{{"bash"}, {"dash"}, {"bash", "--posix"}, {"mksh"}, {"busybox", "sh"}}

// arguments returns the values of ARGUMENTS, 1, name and ARGUMENTS[0].
func arguments(text string, words ...string) func(string) (script.Value, bool) {
	return func(name string) (script.Value, bool) {
		switch name {
		case "ARGUMENTS":
			return script.Value{Words: words, Text: text, Everywhere: true}, true
		case "1", "name", "ARGUMENTS[0]":
			if len(words) == 0 {
				return script.Value{}, true
			}
			return script.Value{Words: words[:1], Text: words[0]}, true
		}
		return script.Value{}, false
	}
}

func TestM7_Fill(t *testing.T) {
	const evil = "a'; touch x; '$(b)"
	for _, c := range []struct{ script, text, want string }{
		{"git status", "x", "git status"},
		{"git log $ARGUMENTS -- $2 $HOME", "-n 5", "git log -n 5 -- $2 $HOME"},
		{"git diff $1...HEAD", "main", "git diff main...HEAD"},
		{"git diff ${1}x", "main", "git diff mainx"},
		{"git diff $1", "", "git diff "},
		{"echo \"at '$1'\" '$1' '$ARGUMENTS' $10", "don't", `echo "at 'don't'" '$1' 'don'\''t' 'don'\''t'0`},
		{"git log | awk '{print $1}'", "x", "git log | awk '{print $1}'"},
		{"echo $ARGUMENTS[0] $ARGUMENTS[1] $name[0]", "x y", "echo x x 'y'[1] 'x'[0]"},
		{"echo $1", evil, `echo 'a'\''; touch x; '\''$(b)'`},
		{`echo "$1"`, evil, `echo "a'; touch x; '\$(b)"`},
		{`echo "$(cat $1)"`, evil, `echo "$(cat 'a'\''; touch x; '\''$(b)')"`},
		{"cat <<E\n$1\nE", "", "cat <<E\n\nE"},
		{"cat <<'E'\n$1\nE", evil, "cat <<'E'\n$1\nE"},
		{"echo ${x:-$1} $((1+$1))", "7", "echo ${x:-7} $((1+7))"},
		{"echo # $1\necho $1", "x", "echo # $1\necho x"},
		{"gh issue view $1>out", "2", "gh issue view '2'>out"},
		{"$1=x; $1[0]=x", "PATH", "'PATH'=x; 'PATH'[0]=x"},
		{"$1 x", "then", "'then' x"},
		{"[[ $1 == x && -e $1 ]]", "a*", "[[ 'a*' == x && -e 'a*' ]]"},
		{"[[ $1 -gt 1 ]] && declare -r x=$1", "7", "[[ 7 -gt 1 ]] && declare -r x=7"},
	} {
		words := strings.Fields(c.text)
		if c.text == evil || c.text == "don't" {
			words = []string{c.text}
		}
		got, err := script.Fill(c.script, arguments(c.text, words...))
		if err != nil || got != c.want {
			t.Errorf("%q with %q: %q, %v, want %q", c.script, c.text, got, err, c.want)
		}
	}
	for in, text := range map[string]string{"echo ${x:-$1}": evil, `echo "${x:-"$1"}"`: "}",
		"echo $((1+$1))": "x[$(id)]", "echo `ls $1`": "a b", "echo $'$ARGUMENTS'": "a b", "cat <<E\n$1\nE": "E",
		"cat <<E; echo $1\nx\nE": "a\nb",
		"[[ $1 -eq 1 ]]":         "x[$(id)]", "[[ 1 -lt \"$1\" ]]": "x[$(id)]", "[[ -v $1 ]]": "x[$(id)]",
		"declare -i n=$1": "x[$(id)]",
		"echo ${a[$1]}":   "$(id)", "a[$1]=x": "$(id)", `echo "${#a[$1]}" $`: "$(id)", "echo $1 'x": "y",
		"echo $1 \x01": "y"} {
		if got, err := script.Fill(in, arguments(text, text)); err == nil {
			t.Errorf("%q with %q: %q", in, text, got)
		}
	}
}

// places holds scripts that print the value of $1 and nothing else, with the shells that can run
// them.
var places = []string{
	`printf %s $1`, `printf %s "$1"`, `printf %s ${1}`, `printf %s "${1}"`, `printf %s '$ARGUMENTS'`,
	`printf %s "$(printf %s "$1")x" | sed '$s/x$//'`,
	`x=$1; printf %s "$x"`, `set -- $1; printf %s "$1"`, "cat <<E; printf %s $1\nE",
	`for x in $1; do printf %s "$x"; done`,
	`case $1 in *) printf %s $1;; esac`, `printf %s "` + "`printf x`" + `$1" | sed '1s/^x//'`, `printf %s ${x:-$1}`,
	`printf %s "${x:-$1}"`, "printf %s `printf %s $1`",
	`sh -c 'printf %s "$2"' x y $1`, `if true; then printf %s $1; fi`, `(printf %s $1)`, `f() { printf %s $1; }; f`,
	`printf %s $1>&1`,
}

// A value is the same text for a shell, in whatever place, and never more.
func TestM7_FilledValuesAreText(t *testing.T) {
	t.Parallel()
	for _, sh := range shells {
		peer.Need(t, sh[0])
	}
	dir := t.TempDir()
	canary := filepath.Join(dir, "canary")
	piece := rapid.SampledFrom([]string{"a", "2", " ", "\n", "'", `"`, "`", "$", "$(touch canary)", "`touch canary`",
		";touch canary;", "\\", "|", "&", "<", ">", "(", ")", "{", "}", "~", "*", "?", "[", "]",
		"#", "!", "=", "-", "%", "E", "\nE\ntouch canary\n", "${x", "$1", "$((", "\t", "é", "'$(touch canary)'",
		`"$(touch canary)"`})
	seed.Check(t, func(r *rapid.T) {
		value := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(r, "value"), "")
		in := rapid.SampledFrom(places).Draw(r, "script")
		filled, err := script.Fill(in, arguments(value, value))
		if err != nil {
			return // it cannot be quoted there
		}
		for _, program := range shells {
			cmd := exec.Command(program[0], slices.Concat(program[1:], []string{"-c", filled})...)
			cmd.Dir = dir
			out, err := cmd.Output()
			want := strings.TrimRight(value, "\n") // substitutions drop newlines at the end
			if err != nil || strings.TrimRight(string(out), "\n") != want {
				r.Errorf("%s: %q with %q is %q, which printed %q, %v", program, in, value, filled, out, err)
			}
			if _, err := os.Stat(canary); err == nil {
				r.Fatalf("%s: %q with %q is %q, which has run the value", program, in, value, filled)
			}
		}
	})
}

func FuzzM7_Fill(f *testing.F) {
	for _, in := range places {
		f.Add(in, "a'b\"$(c)")
	}
	f.Fuzz(func(t *testing.T, in, value string) {
		filled, err := script.Fill(in, arguments(value, value))
		if err == nil && filled != in && !strings.Contains(in, "$") {
			t.Errorf("%q became %q", in, filled)
		}
	})
}
