package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/shquote"
)

// maxAnswer is how much of git's answer is read.
const maxAnswer = 16 << 20

// question asks git about the repository of the working directory, whose top is $1: for its state
// and, behind two zeros, for the subjects of the last commits. Git is the first in PATH that is not
// in the work tree or another of the arguments, nor a link to there. Its environment is made from
// nothing, and the filters of the user's configuration are taken away. It has a gigabyte of memory.
const question = `
set -f
ulimit -d 1048576 2>/dev/null
here=$PWD bin= git=
cd -P "$1" || exit
# outside is whether $1 is in none of the directories. Those that have the system's programs do not count.
outside() {
  file=$1
  for root in $roots; do
    case /usr/bin/ in "$root"/*) continue ;; esac
    case $file in "$root"/*) return 1 ;; esac
  done
}
IFS='
'
roots=
for root do
  cd -P "$root" 2>/dev/null || continue
  root=${PWD#/}
  roots="$roots
/${root#/}"
done
IFS=:
for dir in $PATH; do
  case $dir in /*) cd -P "$dir" 2>/dev/null || continue ;; *) continue ;; esac
  dir=${PWD#/}
  IFS='
'
  if outside "/${dir#/}/"; then bin=$bin:/${dir#/}; fi
  IFS=:
done
PATH=${bin#:}
for dir in $PATH; do
  if [ -f "$dir/git" ] && [ -x "$dir/git" ]; then
    found=$dir/git
    if [ -h "$found" ]; then found=$(readlink -f "$found"); fi
    IFS='
'
    if [ -n "$found" ] && outside "$found"; then git=$dir/git; break; fi
    IFS=:
  fi
done
cd "$here" || exit
PATH=${bin#:}
[ -n "$git" ] && command -v env >/dev/null || { echo "git is not installed" >&2; exit 1; }
exec env -i PATH="$PATH" HOME="${HOME-/nonexistent}" XDG_CONFIG_HOME="${XDG_CONFIG_HOME-}" LC_ALL=C GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0 GIT_NO_LAZY_FETCH=1 git="$git" sh -c '
set -f
IFS="
"
set -- -c safe.bareRepository=explicit -c core.fsmonitor=false -c core.preloadIndex=false -c core.hooksPath=/dev/null -c log.showSignature=false -c log.date=default -c core.pager=cat -c protocol.allow=never
for name in $("$git" "$@" config --name-only --get-regexp "^filter\..*\.(clean|smudge|process|required)$"); do
  case $name in *=*) echo "a filter of the user has an = in its name" >&2; exit 1 ;; esac
  set -- "$@" -c "$name="
done
"$git" "$@" status --porcelain=v2 -z --branch --untracked-files=all --ignore-submodules=all --find-renames=100% || exit
printf "\0\0"
"$git" "$@" log -SUBJECTS --encoding=UTF-8 --format=%s 2>/dev/null || :
'`

// ask asks git about a repository. It returns why there is no answer.
func (s *Snapshot) ask(ctx context.Context, e env.Environment, repo *Repository) string {
	var out, said bytes.Buffer
	over := false
	main := strings.TrimSuffix(repo.CommonDir, "/.git") // of a linked work tree, the one beside it
	roots := slices.Concat([]string{s.Root, main}, WorkTrees(s.Root, os.Getenv("HOME")), env.ConfinementOf(e).Writable)
	script := "set -- " + shquote.Words(roots...) + "\n" + strings.Replace(question, "SUBJECTS",
		strconv.Itoa(maxSubjects), 1)
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
		return failure(said.String(), result.Code)
	}
	state, subjects, _ := strings.Cut(out.String(), "\x00\x00\x00")
	if !s.readState(state) {
		return "git said nothing"
	}
	if subjects = strings.TrimSuffix(subjects, "\n"); subjects != "" {
		s.Subjects = strings.Split(subjects, "\n")
	}
	return ""
}

// failure says why git failed. Its own words are not repeated: they can hold what stands in any
// file that a repository leads to.
func failure(said string, code int) string {
	for _, known := range [][2]string{
		{"git is not installed", "git is not installed"},
		{"dubious ownership", "the repository belongs to another user; git config --global --add safe.directory says " +
			"that git may use it"},
		{"unknown option", "this git is too old"},
		{"= in its name", "a filter of the user's configuration has an = in its name"},
	} {
		if strings.Contains(said, known[0]) {
			return known[1]
		}
	}
	return fmt.Sprintf("git ended with exit code %d", code)
}

// readState reads what git status says in its second form, and reports whether it has said
// something. The paths of changes are the last fields of their records.
func (s *Snapshot) readState(text string) (told bool) {
	var modified, untracked []Change
	records := strings.Split(text, "\x00")
	for i := 0; i < len(records); i++ {
		kind, rest, _ := strings.Cut(records[i], " ")
		fields := 0 // in front of the path
		switch kind {
		case "#":
			if branch, ok := strings.CutPrefix(rest, "branch.head "); ok {
				if s.Branch, told = branch, true; branch == "(detached)" || branch == "(unknown)" {
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
	s.Modified, s.Untracked, s.Counted = len(modified), len(untracked), told
	s.Changed = append(modified, untracked...)
	s.Changed = s.Changed[:min(maxChanged, len(s.Changed)):min(maxChanged, len(s.Changed))]
	return told
}
