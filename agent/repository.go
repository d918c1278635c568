package agent

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
)

// repository is what git says of the working directory when the session starts (requirement E6); the zero value is none.
type repository struct {
	root, branch        string
	modified, untracked int
	counted             bool     // the numbers are known
	subjects            []string // of the last commits, the newest first
}

// snapshotTimeout is how long git may take. In a tree so large that this is not enough the numbers of files are left out.
const snapshotTimeout = 5 * time.Second

// snapshotScript asks git for the place in the repository, the branch, the last subjects and the state of the files, in this order
// because the last takes longest. It takes no locks and runs no program that the repository's configuration names.
const snapshotScript = `exec 2>/dev/null
export GIT_OPTIONAL_LOCKS=0
git rev-parse --show-prefix || exit 0
git symbolic-ref --short -q HEAD || echo
git log -10 --no-show-signature --encoding=UTF-8 --format='log %s'
git -c core.fsmonitor=false status --porcelain --untracked-files=all && echo counted`

// lookAtRepository asks git. A missing git and a missing repository are no error, and neither is an environment without commands.
func lookAtRepository(ctx context.Context, e env.Environment) repository {
	s := &snapshot{repo: repository{root: e.WorkDir()}}
	ran, err := env.Run(ctx, e, env.Command{Script: snapshotScript, Output: s.write}, snapshotTimeout)
	if err != nil || s.lines == 0 {
		return repository{}
	}
	// What was cut off in the middle of a command does not count.
	s.repo.counted = s.repo.counted && !ran.TimedOut
	// The root in the words of the working directory, which may be given through a symbolic link that git has resolved.
	if root, below := strings.CutSuffix(e.WorkDir()+"/", "/"+s.prefix); below && s.prefix != "" {
		s.repo.root = root
		if root == "" {
			s.repo.root = "/"
		}
	}
	return s.repo
}

// snapshot reads the script's output, line by line because it can be long.
type snapshot struct {
	repo   repository
	prefix string
	lines  int
	rest   []byte // of a line that has not ended
}

func (s *snapshot) write(stream int, p []byte) {
	if stream != env.Stdout {
		return
	}
	s.rest = append(s.rest, p...)
	for {
		line, rest, ended := bytes.Cut(s.rest, []byte("\n"))
		if !ended {
			return
		}
		s.line(string(line))
		s.rest = rest
	}
}

// line takes one line. What git status prints starts with two capitals, spaces or question marks, and file names have no newlines
// in it.
func (s *snapshot) line(text string) {
	s.lines++
	subject, isSubject := strings.CutPrefix(text, "log ")
	switch {
	case s.lines == 1:
		s.prefix = text
	case s.lines == 2:
		s.repo.branch = text
	case isSubject:
		s.repo.subjects = append(s.repo.subjects, subject)
	case text == "counted":
		s.repo.counted = true
	case strings.HasPrefix(text, "??"):
		s.repo.untracked++
	default:
		s.repo.modified++
	}
}

// status is the state of the files in words.
func (r repository) status() string {
	if !r.counted {
		return ""
	}
	return fmt.Sprintf("%d modified, %d untracked", r.modified, r.untracked)
}
