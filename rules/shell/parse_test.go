package shell_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/rules/shell"
)

// show describes a script in one line for each command.
func show(s shell.Script) string {
	var b strings.Builder
	if s.Unclear != "" {
		b.WriteString("unclear script\n")
	}
	for _, c := range s.Commands {
		dir := c.Dir
		if dir == "" {
			dir = "?"
		}
		fmt.Fprintf(&b, "%s: %s", dir, strings.Join(c.Words, "|"))
		for _, list := range []struct {
			name  string
			names []string
		}{{"vars", c.Vars}, {"reads", c.Reads}, {"writes", c.Writes}} {
			if len(list.names) > 0 {
				fmt.Fprintf(&b, " %s=%s", list.name, strings.Join(list.names, ","))
			}
		}
		for _, flag := range []struct {
			name string
			is   bool
		}{{"glob", len(c.Globs) > 0}, {"wraps", c.Wraps}, {"subshell", c.Subshell}, {"unclear", c.Unclear != ""}} {
			if flag.is {
				b.WriteString(" " + flag.name)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestL1_Parse checks which commands scripts are taken for.
func TestL1_Parse(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"ls -l", "/w: ls|-l"},
		{`l\s 'a b'"c"\ d "\$x" ''`, "/w: ls|a bc d|$x|"},
		{"ls; pwd & wc x | sort\n! id", "/w: ls\n/w: pwd\n/w: wc|x\n/w: sort\n/w: id"},
		{"ls # rm x\n", "/w: ls"},
		{"ls \\\n -l", "/w: ls|-l"},
		{"git commit -m \"$(cat <<'EOF'\nFix it\n\nIt was broken. & | ; <x>\nEOF\n)\"",
			"/w: git|commit|-m|Fix it\n\nIt was broken. & | ; <x>\n/w: cat"},
		{"git commit -m \"$(cat <<EOF\nFix $x\nEOF\n)\"",
			"/w: git|commit|-m|\"$(cat <<EOF\nFix $x\nEOF\n)\" unclear\n/w: cat unclear"},
		{"git commit -m \"$(cat <<'EOF'\nit's (so)\nEOF\n)\"",
			"/w: git|commit|-m|\"$(cat <<'EOF'\nit's (so)\nEOF\n)\" unclear\n/w: cat"},
		{"echo $(cat <<'EOF'\na b\nEOF\n)", "/w: echo|$(cat <<'EOF'\na b\nEOF\n) unclear\n/w: cat"},
		{"echo \"$(cat x <<'EOF'\na\nEOF\n)\"", "/w: echo|\"$(cat x <<'EOF'\na\nEOF\n)\" unclear\n/w: cat|x"},
		{"cat() { rm x; }; echo \"$(cat <<'EOF'\na\nEOF\n)\"", "unclear script\n?: rm|x\n/w: echo|a\n/w: cat"},
		{"cd sub && ls; ls", "/w: cd|sub\n/w/sub: ls\n/w/sub: ls\n/w: ls"},
		{"cd sub || cat a", "/w: cd|sub\n/w: cat|a"},
		{"cd sub | ls; cd /x/ && cd y && ls", "/w: cd|sub\n/w: ls\n/w: cd|/x/\n/x: cd|y\n/x/y: ls"},
		{"cd ../v && ls", "/w: cd|../v\n/v: ls"},
		{"cd a/../b && ls", "/w: cd|a/../b\n/w/b: ls\n/w/a/../b: ls"},
		{"cd && ls; cd - && ls", "/w: cd\n/home/u: ls\n/home/u: cd|-\n/w: cd|-\n?: ls"},
		{"cd $x && ls", "/w: cd|$x unclear\n?: ls"},
		{"CDPATH=/x cd a && ls", "/w: cd|a vars=CDPATH\n?: ls"},
		{"while true; do cd ..; ls; done; ls", "?: true\n?: cd|..\n?: ls\n?: ls"},
		{"cd a & ls", "/w: cd|a\n/w: ls"},
		{"cd a &>/dev/null && ls", "/w: cd|a\n/w: ls\n/w/a: ls"},
		{"builtin cd a && ls", "/w: builtin|cd|a wraps\n/w: cd|a\n/w/a: ls"},
		{"(cd a && ls); ls", "/w: cd|a subshell\n/w/a: ls subshell\n/w: ls"},
		{"{ ls; rm x; } > o", "/w: ls writes=/w/o\n/w: rm|x writes=/w/o"},
		{"if test -d a; then ls; elif b; then c; else d; fi", "/w: test|-d|a\n/w: ls\n/w: b\n/w: c\n/w: d"},
		{"for f in a b; do rm x; done", "/w: rm|x vars=f"},
		{"case a in b) rm x ;; *) ls ;; esac", "/w: rm|x\n/w: ls"},
		{"echo $(rm x `id`)", "/w: echo|$(rm x `id`) unclear\n/w: rm|x|`id` unclear\n/w: id"},
		{"x=$(rm y)", "/w: : vars=x\n/w: rm|y vars=x"},
		{"diff <(ls) <(rm x)", "/w: diff|<(ls)|<(rm x) unclear\n/w: ls\n/w: rm|x"},
		{"echo $((x[$(rm y)]))", "/w: echo|$((x[$(rm y)])) unclear\n/w: rm|y"},
		{"echo ${x:-$(rm y)}", "/w: echo|${x:-$(rm y)} unclear\n/w: rm|y"},
		{"cat < a > b 2>&1 <> c", "/w: cat reads=/w/a,/w/c writes=/w/b,/w/c"},
		{"ls > /dev/null 2>/dev/null </dev/null", "/w: ls"},
		{"cd a && ls > o", "/w: cd|a\n/w/a: ls writes=/w/a/o"},
		{"ls &> o; ls >& o; ls >| o; ls &>> o; > o",
			"/w: ls writes=/w/o\n/w: ls writes=/w/o\n/w: ls writes=/w/o\n/w: ls writes=/w/o\n/w: : writes=/w/o"},
		{"cat <<'E'\n$(rm x)\nE", "/w: cat"},
		{"cat <<E\n$(rm x)\nE", "/w: cat unclear\n/w: rm|x"},
		{"cat <<< hi", "/w: cat"},
		{"A=1 B=2 ls; C=3; id", "/w: ls vars=A,B,C\n/w: : vars=C\n/w: id vars=C"},
		{"ls *.go 'a*' a\\*", "/w: ls|*.go|a*|a* glob"},
		{"ls 'a*'*", "/w: ls|a** unclear"},
		{"ls ~/x ~", "/w: ls|/home/u/x|/home/u"},
		{"ls ~bob", "/w: ls|~bob unclear"},
		{"HOME=/x; ls ~/a", "/w: : vars=HOME\n/w: ls|~/a vars=HOME unclear"},
		{"ls {a,b}; git show HEAD@{1} {}", "/w: ls|{a,b} unclear\n/w: git|show|HEAD@{1}|{}"},
		{"echo $'a' $\"b\"", "/w: echo|$'a'|$\"b\" unclear"},
		{"false; echo $?; cat $?", "/w: false\n/w: echo|$?\n/w: cat|$? unclear"},
		{"bash -lc 'cd a && ls > f'; sh -ec ls",
			"/w: bash|-lc|cd a && ls > f wraps\n/w: cd|a\n/w/a: ls writes=/w/a/f\n/w: sh|-ec|ls wraps\n/w: ls"},
		{"bash -c \"rm $x\"", "/w: bash|-c|\"rm $x\" unclear"},
		{"bash -ic ls; bash x.sh", "/w: bash|-ic|ls unclear\n/w: ls\n/w: bash|x.sh"},
		{"zsh -lc 'ls =rm'", "/w: zsh|-lc|ls =rm unclear\n/w: ls|=rm"},
		{"timeout -k 5 10 nice -n5 command ls",
			"/w: timeout|-k|5|10|nice|-n5|command|ls wraps\n/w: nice|-n5|command|ls wraps\n/w: command|ls " +
				"wraps\n/w: ls"},
		{"time ls; time -p rm x", "/w: ls\n/w: rm|x"},
		{"command -v ls", "/w: command|-v|ls"},
		{"command cd a && ls", "/w: command|cd|a wraps\n/w: cd|a\n/w/a: ls"},
		{"sudo -u root rm x", "/w: sudo|-u|root|rm|x unclear\n/w: rm|x"},
		{"sudo --strange root rm x", "/w: sudo|--strange|root|rm|x unclear\n/w: root|rm|x\n/w: rm|x\n/w: x"},
		{"env -i A=1 rm x", "/w: env|-i|A=1|rm|x unclear\n/w: rm|x"},
		{"xargs -n1 rm < l", "/w: xargs|-n1|rm reads=/w/l unclear\n/w: rm reads=/w/l"},
		{"find . -exec rm {} \\; -o -execdir id +",
			"/w: find|.|-exec|rm|{}|;|-o|-execdir|id|+ unclear\n/w: rm|{}\n/w: id"},
		{"nohup ls &", "/w: nohup|ls unclear\n/w: ls"},
		{"eval 'rm x' y; ls", "/w: eval|rm x|y unclear\n/w: rm|x|y\n?: ls"},
		{`eval "rm x" $y`, "/w: eval|rm x|$y unclear\n/w: rm|x"},
		{"bash --norc -i x.sh", "/w: bash|--norc|-i|x.sh"},
		{"trap 'rm x' EXIT", "/w: trap|rm x|EXIT unclear\n/w: rm|x"},
		{". ./x; source y", "/w: .|./x unclear\n?: source|y unclear"},
		{"exec 3<&0; exec rm x", "/w: exec unclear\n/w: exec|rm|x unclear\n/w: rm|x"},
		{"alias ls=rm; ls", "/w: alias|ls=rm unclear\n/w: rm\n/w: ls"},
		{"set -euo pipefail; set -k", "/w: set|-euo|pipefail\n/w: set|-k unclear"},
		{"export A=1; ls", "/w: export|A=1 vars=A\n/w: ls vars=A"},
		{"declare -i x='a[$(id)]'", "/w: declare|-i|x='a[$(id)]' vars=x unclear"},
		{"[[ -f a ]]; [[ a == b ]]", "/w: [[|-f|a|]]\n/w: [[|... unclear"},
		{"[[ a || ./x ]]", "/w: [[|... unclear"},
		{"[[ -v a[$(id)] ]]", "/w: [[|-v|a[$(id)]|]] unclear\n/w: id"},
		{"f() { rm x; }; f", "unclear script\n?: rm|x\n/w: f"},
		{"((x = a[$(id)]))", "unclear script\n/w: id"},
		{"a[$(id)]=1", "unclear script\n/w: : vars=a\n/w: id vars=a"},
		{"coproc rm x", "unclear script\n/w: rm|x"},
		{"ls\r\nrm x", "unclear script"},
		{"ls \x1b[2J", "unclear script"},
		{"l\u200bs", "unclear script"},
		{"ls\u00a0x", "unclear script"},
		{"ls \xff", "unclear script"},
		{"ls && && rm", "unclear script"},
		{"ls 'x", "unclear script"},
		{"echo 11>x; echo {fd}>x", "/w: echo writes=/w/x unclear\n/w: echo writes=/w/x unclear"},
		{"\"${x}\" a; '' b", "/w: \"${x}\"|a unclear\n?: |b unclear"},
	} {
		if got := strings.TrimSuffix(show(shell.Parse(c.script, shell.Place{Dir: "/w", Home: "/home/u"})),
			"\n"); got != c.want {
			t.Errorf("%q:\n%s\nwant\n%s", c.script, got, c.want)
		}
	}
}

// It is told apart what is not literal: the program of a command, and a script that it runs.
func TestU8_Computed(t *testing.T) {
	for script, want := range map[string]string{"$x y": "computed", `sh -c "$x"`: "hidden", "sh": "computed",
		"xargs sh -c":  "hidden",
		"sh --norc -i": "computed", "sh --norc -i x.sh": "", `eval -"$x" y`: "hidden",
		"rm x\n)": "unread", "rm $x": "", "sh x.sh": "", `"$CLAUDE_PROJECT_DIR"/x.sh`: "computed"} {
		parsed := shell.Parse(script, shell.Place{Dir: "/w"})
		got := ""
		if parsed.Unread {
			got = "unread"
		}
		for _, c := range parsed.Commands {
			if c.Computed {
				got += "computed"
			}
			if c.Hidden {
				got += "hidden"
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
}
