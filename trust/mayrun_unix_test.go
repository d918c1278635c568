//go:build unix

package trust_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/trust"
)

// startsSomething is what the tests take for variables that start something.
func startsSomething(variable string) bool {
	return variable == "PATH" || variable == "PS4" || strings.HasPrefix(variable, "GIT_")
}

// A script that may run a file of the directory is found, whatever it looks like to some shell. Each
// of these runs scripts/x, or a program of the directory tools.
func TestU17_MayRunFindsWhatRuns(t *testing.T) {
	peer.Need(t, "git")
	const sh, bash = "#!/bin/sh\n", "#!/bin/bash\n"
	for name, script := range map[string]string{
		"printf sets PATH":              bash + "printf -vPATH tools\ngit status\n",
		"printf sets it by a text":      bash + "printf \"$(cat files/printf)\" tools\ngit status\n",
		"read sets PATH":                sh + "read -r PATH <files/tools\ngit status\n",
		"read sets PS4":                 bash + "set -x\nread -r PS4 <files/substitution\n:\n",
		"no PATH":                       sh + "unset PATH\ngit status\n",
		"braces name PATH":              bash + "export {PATH,y}=tools\ngit status\n",
		"command exports PATH":          sh + "command export PATH=tools\ngit status\n",
		"quotes export PATH":            sh + "\"export\" PATH=tools\ngit status\n",
		"arguments are variables":       bash + "set -k\ngit status PATH=tools\n",
		"the history is expanded":       bash + "set -o history -o histexpand\n: '\"; scripts/x; \"'\n: \"!!\"\n",
		"an expansion sets a variable":  sh + "set -a\n: \"${GIT_EXTERNAL_DIFF:=scripts/x}\"\ngit diff\n",
		"a part is calculated":          bash + "n=$(cat files/index)\necho \"${PWD:n}\"\n",
		"an index is calculated":        bash + "n=$(cat files/index)\necho \"${a[n]}\"\n",
		"a value is expanded again":     bash + "p=$(cat files/substitution)\necho \"${p@P}\"\n",
		"quotes with a dollar":          sh + "echo $'a\\'; scripts/x; : '\n#'\n",
		"an operator of some shells":    sh + "echo a &>/dev/null scripts/x\n",
		"a pattern is an operator":      bash + "cd pattern; [ * ]\n",
		"a text is an operator":         bash + "[ \"$(cat files/operator)\" \"$(cat files/index)\" ]\n",
		"a text behind others is one":   bash + "[ -n a -a \"$(cat files/operator)\" \"$(cat files/index)\" ]\n",
		"quotes that are escaped":       bash + "x=$(cat files/operands)\n[ \\\"$x\\\" = y ]\n",
		"quotes in quotes":              bash + "x=$(cat files/operands)\n[ '\"'$x'\"' = y ]\n",
		"all arguments":                 bash + "set -- $(cat files/operator files/index)\n[ \"$@\" ]\n",
		"an interpreter that is a file": "#!tools/sh\ntrue\n",
		"the same by env":               "#!/usr/bin/env tools/sh\ntrue\n",
		"a script of the interpreter":   "#!/bin/sh x\ntrue\n",
		"a hook is written":             sh + "cat scripts/x >\"$(git rev-parse --git-dir)/hooks/post-commit\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "work")
			canary := filepath.Join(filepath.Dir(dir), "canary")
			runs := "#!/bin/sh\n/usr/bin/touch " + canary + "\n"
			for file, text := range map[string]string{"scripts/x": runs, "tools/git": runs, "tools/sh": runs, "git": runs,
				"x": runs, "files/tools": "tools\n", "files/printf": "-vPATH", "files/substitution": "$(scripts/x)",
				"files/index": "a[$(scripts/x)]", "files/operator": "-v\n", "pattern/-v": "", "pattern/a[$(cd ..;sh x)]": "",
				"files/operands": " -o -v a[$(scripts/x)] -o ", "changed": "", ".git/hooks/pre-commit": script,
				".git/hooks/post-commit": "#!/bin/sh\n"} {
				file = filepath.Join(dir, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
					t.Fatal(err)
				}
			}
			git := func(args ...string) {
				cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c",
					"core.hooksPath=.git/hooks"}, args...)...)
				cmd.Dir = dir
				_ = cmd.Run() // a hook may fail
			}
			git("init", "-q", "--template=")
			git("add", ".")
			if err := os.WriteFile(filepath.Join(dir, "changed"), []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
			git("commit", "-q", "-m", "x")
			if _, err := os.Stat(canary); err != nil {
				t.Skipf("the shells of this machine run nothing: %v", err)
			}
			if why := trust.MayRun([]byte(script), dir, startsSomething); why == "" {
				t.Error("it ran a file, and was taken for a script that runs none")
			}
		})
	}
}

// Scripts that ordinary repositories have, and that run no file of theirs, are known.
func TestU17_MayRunKnowsPlainScripts(t *testing.T) {
	for _, script := range []string{
		"#!/bin/sh\ncommand -v git-lfs >/dev/null 2>&1 || { printf >&2 \"\\n%s\\n\\n\" \"This repository is configured " +
			"for Git LFS but 'git-lfs' was not found on your path.\"; exit 2; }\ngit lfs pre-push \"$@\"\n",
		"#!/bin/sh\nif git rev-parse --verify HEAD >/dev/null 2>&1\nthen\n\tagainst=HEAD\nelse\n\tagainst=$(git rev-parse " +
			"HEAD)\nfi\nexec 1>&2\ncat <<\\EOF\nno\nEOF\n",
		"#!/usr/bin/env bash\nset -euo pipefail\nwhile IFS= read -r line || [ -n \"$line\" ]; do\n  case \"$line\" in\n" +
			"    'WIP'*) echo \"no: $line\" >&2; exit 1 ;;\n  esac\ndone <\"$1\"\n",
		"#!/bin/sh -e\nexec </dev/tty\nread -p \"Sure? [y/N] \" answer\n[ \"$answer\" = y ] || [ \"${answer:-n}\" = Y ]\n",
		"#!/bin/sh\nbranch=\"$(git rev-parse --abbrev-ref HEAD)\"\nif [ \"$branch\" = main ] && [ -z \"${ALLOW:-}\" ]; then\n" +
			"  printf '%s\\n' \"not on ${branch##*/}\" >&2\n  exit 1\nfi\n",
		"#!/bin/sh\nunset GIT_DIR\nn=$(git diff --cached --name-only | wc -l)\n[ \"$n\" -gt 500 ] && echo many &>/dev/null\n",
		"export DATABASE_URL=postgres://localhost/x DATA=$PWD/data\nexport NODE_ENV=development\n",
	} {
		if why := trust.MayRun([]byte(script), "/work", startsSomething); why != "" {
			t.Errorf("%q: %s", script, why)
		}
	}
}
