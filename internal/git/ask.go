package git

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/shquote"
)

// maxAnswer is how much of git's answer is read.
const maxAnswer = 16 << 20

// question asks git about the repository of the working directory, whose top is $1: for its state and, behind two zeros, for the subjects of the
// last commits. Git is one that the work tree does not bring. Its environment is made from nothing, and what the user's
// configuration would make it start is taken away.
const question = `
bin= IFS=:
for dir in $PATH; do
  case $dir in "$1" | "$1"/*) ;; /*) bin=$bin:$dir ;; esac
done
PATH=${bin#:}
command -v git >/dev/null && command -v env >/dev/null || { echo "git is not installed" >&2; exit 1; }
exec env -i PATH="$PATH" HOME="$HOME" XDG_CONFIG_HOME="$XDG_CONFIG_HOME" LC_ALL=C GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0 GIT_NO_LAZY_FETCH=1 sh -c '
IFS="
"
set -- -c safe.bareRepository=explicit -c core.fsmonitor=false -c core.preloadIndex=false -c core.hooksPath=/dev/null -c log.showSignature=false -c core.pager=cat -c protocol.allow=never
for name in $(git "$@" config --name-only --get-regexp "^filter\..*\.(clean|smudge|process|required)$"); do
  set -- "$@" -c "$name="
done
git "$@" status --porcelain=v2 -z --branch --untracked-files=all --ignore-submodules=all --find-renames=100% || exit
printf "\0\0"
git "$@" log -SUBJECTS --encoding=UTF-8 --format=%s 2>/dev/null || :
'`

// ask asks git. It returns why there is no answer.
func (s *Snapshot) ask(ctx context.Context, e env.Environment) string {
	var out, said bytes.Buffer
	over := false
	script := "set -- " + shquote.Words(s.Root) + "\n" + strings.Replace(question, "SUBJECTS", strconv.Itoa(maxSubjects), 1)
	result, err := env.Run(env.Observing(ctx, true), e, env.Command{Script: script, Output: func(stream int, p []byte) {
		to := &out
		if stream == 2 {
			to = &said
		}
		if over = over || out.Len()+said.Len()+len(p) > maxAnswer; !over {
			to.Write(p)
		}
	}}, lookTimeout)
	switch {
	case errors.Is(err, context.DeadlineExceeded), result.TimedOut:
		return "git took more than " + lookTimeout.String()
	case err != nil:
		return "git could not be asked: " + err.Error()
	case over:
		return "git said too much"
	case result.Code != 0:
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return line
	}
	state, subjects, _ := strings.Cut(out.String(), "\x00\x00\x00")
	s.readState(state)
	if subjects = strings.TrimSuffix(subjects, "\n"); subjects != "" {
		s.Subjects = strings.Split(subjects, "\n")
	}
	return ""
}

// readState reads what git status says in its second form. The paths of changes are the last fields of their records.
func (s *Snapshot) readState(text string) {
	var modified, untracked []Change
	records := strings.Split(text, "\x00")
	for i := 0; i < len(records); i++ {
		kind, rest, _ := strings.Cut(records[i], " ")
		fields := 0 // in front of the path
		switch kind {
		case "#":
			if branch, ok := strings.CutPrefix(rest, "branch.head "); ok {
				if s.Branch = branch; strings.HasPrefix(branch, "(") { // (detached), (unknown)
					s.Branch = ""
				}
			}
			continue
		case "1":
			fields = 7
		case "2":
			fields = 8
			i++ // the old name
		case "u":
			fields = 9
		case "?":
			untracked = append(untracked, Change{Path: strings.TrimSuffix(rest, "/"), Untracked: true})
			continue
		default:
			continue
		}
		if parts := strings.SplitN(rest, " ", fields+1); len(parts) > fields {
			modified = append(modified, Change{Path: parts[fields]})
		}
	}
	slices.SortFunc(modified, func(a, b Change) int { return strings.Compare(a.Path, b.Path) }) // conflicts come last
	s.Modified, s.Untracked, s.Counted = len(modified), len(untracked), true
	s.Changed = append(modified, untracked...)
	s.Changed = s.Changed[:min(maxChanged, len(s.Changed)):min(maxChanged, len(s.Changed))]
}
