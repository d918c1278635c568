package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/internal/shquote"
)

// Eval says how a task of an evaluation is judged when its session has ended. The agent does not
// see it. A task passes if everything that is set holds.
type Eval struct {
	// Files holds contents by path, such as tests that the agent must not see. They are written
	// into the workspace first, and replace what is there, also links that lead out of it.
	Files map[string]string `json:"files,omitempty"`
	// Patch is applied by git after that. Files that it changes are first reset to their cloned
	// contents, and files that it creates are removed.
	Patch string `json:"patch,omitempty"`
	// Check is a command that exits with 0 if the task has passed. It runs where the commands of
	// the agent ran.
	Check string `json:"check,omitempty"`
	// Answer is what the final answer has to be: a string, or any other JSON.
	Answer json.RawMessage `json:"answer,omitempty"`
	// Time bounds the Check. Zero means 30 minutes.
	Time Duration `json:"time,omitempty"`
}

// Verdict says whether a task has passed its Eval.
type Verdict struct {
	Passed bool `json:"passed"`
	// Reason says why the task has not passed, or could not be judged, such as the end of the
	// Check's output.
	Reason string `json:"reason,omitempty"`
}

// The bounds of an Eval.
const (
	evalTime  = 30 * time.Minute
	mostFiles = 1000
	evalTail  = 2 << 10 // bytes of output in a Verdict
)

// check checks the fields of an Eval.
func (e *Eval) check(bad func(field, format string, args ...any)) {
	if e.Check == "" && e.Answer == nil {
		bad("eval", "it has neither a check nor an answer, so nothing would be judged")
	}
	if e.Time < 0 {
		bad("eval.time", "it is negative; 0 means %v", evalTime)
	}
	if len(e.Files) > mostFiles {
		bad("eval.files", "it has %d files, and may have %d", len(e.Files), mostFiles)
	}
	for name := range e.Files {
		if problem := nameProblem(name); problem != "" || !filepath.IsLocal(name) {
			bad("eval.files", "%.200q is no path in the workspace", name)
		}
	}
}

// judge returns the verdict about an ended session with this final answer.
func (j *Job) judge(answer string) *Verdict {
	e := j.Task.Eval
	stop, end := j.orderly()
	defer end()
	why := e.wrongAnswer(answer)
	if why == "" && e.Check != "" {
		var err error
		if why, err = j.runCheck(stop); err != nil {
			why = "the check could not be run: " + err.Error()
		}
	}
	if cause := cmp.Or(j.cause(), context.Cause(stop)); cause != nil {
		why = "not judged: " + cause.Error()
	}
	return &Verdict{Passed: why == "", Reason: cutText(why, mostReason)}
}

// runCheck runs the check where the host wants it to. It returns why the check failed, or "".
func (j *Job) runCheck(ctx context.Context) (why string, err error) {
	in := Judged{Env: j.Workspace.Env()}
	if open := j.worker.Judge; open != nil {
		err := careful("Worker.Judge", func() (err error) { in, err = open(ctx, j); return err })
		if err != nil {
			return "", err
		}
	}
	if in.Close != nil {
		defer func() {
			if err := careful("Judged.Close", in.Close); err != nil {
				j.log.Warn("check not closed", "error", err)
			}
		}()
	}
	if in.Mask == nil {
		in.Mask = func(text string) string { return text }
	}
	in.Env = j.gate.environment(in.Env)
	base := ""
	if j.point != nil {
		base = j.point.Base
	}
	most := cmp.Or(time.Duration(j.Task.Eval.Time), evalTime)
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if why, err = j.Task.Eval.run(ctx, in, base, j.Task.Dir == ""); ctx.Err() != nil {
		return fmt.Sprintf("the check has not ended within %v", most), nil
	}
	return why, err
}

// wrongAnswer returns how an answer differs from the expected one, or "".
func (e *Eval) wrongAnswer(answer string) string {
	var want, got any
	if e.Answer == nil || json.Unmarshal(e.Answer, &want) != nil {
		return ""
	}
	if text, is := want.(string); is {
		if strings.TrimSpace(text) == strings.TrimSpace(answer) {
			return ""
		}
	} else if json.Unmarshal([]byte(answer), &got) == nil && reflect.DeepEqual(got, want) {
		return ""
	}
	return fmt.Sprintf("the answer is not %.500s", e.Answer)
}

// run prepares the workspace and runs the check. It returns why the check failed, or "". The base
// is the commit that was cloned, or "" without one. Own says that the workspace belongs to the task
// alone: only there are files removed that are in the way.
func (e *Eval) run(ctx context.Context, in Judged, base string, own bool) (why string, err error) {
	names := slices.Sorted(maps.Keys(e.Files))
	if len(names) > 0 && own {
		if why, err = script(ctx, in, makeWay, strings.Join(names, "\n")+"\n"); err != nil || why != "" {
			return "", errors.Join(err, errors.New("the files cannot be written: "+why))
		}
	}
	for _, name := range names {
		if err := in.Env.WriteFile(ctx, name, []byte(e.Files[name]), 0o644); err != nil {
			return "", err
		}
	}
	if e.Patch != "" {
		text := "base=" + shquote.Words(base) + "; export base\n" + applyPatch
		if why, err = script(ctx, in, text, strings.TrimSuffix(e.Patch, "\n")+"\n"); err != nil || why != "" {
			return "", errors.Join(err, errors.New("the patch cannot be applied: "+why))
		}
	}
	return script(ctx, in, e.Check, "")
}

// clearWay defines the shell function way, which removes what keeps a path from being one in the
// workspace: links that lead out of it, and files where directories have to be.
const clearWay = `way() {
	at=. rest=$1
	while case $rest in (*/*) ;; (*) false ;; esac; do
		at=$at/${rest%%/*} rest=${rest#*/}
		if [ -L "$at" ]; then
			case $(cd -P -- "$at" 2>/dev/null && pwd -P)/ in ("$(pwd -P)"/*) ;; (*) rm -f -- "$at" ;; esac
		fi
		[ -d "$at" ] || rm -f -- "$at"
	done
	at=$at/$rest
}
`

// makeWay is a script that reads paths of files, one a line, and removes what is in their way.
const makeWay = clearWay + `while IFS= read -r name; do
	[ -n "$name" ] || continue
	way "$name"
	if [ -L "$at" ] || [ -d "$at" ]; then rm -rf -- "$at" || exit; fi
done`

// applyPatch is a script that reads a patch, resets its files to the commit $base, or to HEAD if
// that is empty, and applies it. With a base, files that the commit does not have were created by
// the agent and are removed; without one, the directory is not the task's own, and they stay. names
// prints the paths of the patch and of its reverse, which has the old paths of renamed files.
const applyPatch = `patch=$(cat && echo .) && patch=${patch%.} || exit
apply() { printf '%s' "$patch" | git apply --whitespace=nowarn "$@" -; }
names() { apply --numstat -z && apply -R --numstat -z; }
names >/dev/null || exit
restore='` + clearWay + `for name; do
	if git cat-file -e "${base:-HEAD}:./$name" 2>/dev/null; then
		way "$name" && rm -rf -- "$at" && git --literal-pathspecs checkout -q "${base:-HEAD}" -- "$name" || exit
	elif [ -n "$base" ]; then
		way "$name" && rm -rf -- "$at" || exit
	fi
done'
names | tr '\n\0' '\0\n' | cut -f 3- | tr '\n\0' '\0\n' | xargs -0 sh -c "$restore" sh && apply`

// script runs a script until it ends, or ctx does. It returns how the script failed, or "".
func script(ctx context.Context, in Judged, text, input string) (why string, err error) {
	output := capture.New(capture.Options{Head: -1, Tail: 32 * evalTail})
	p, err := in.Env.Start(ctx, env.Command{Script: text, Stdin: true, Output: output.Write})
	if err != nil {
		return "", err
	}
	go func() { // ends with the process
		_, _ = p.Stdin().Write([]byte(input)) // a script need not read it
		_ = p.Stdin().Close()                 // the same
	}()
	exit, err := p.Wait(ctx)
	if err != nil {
		return "", errors.Join(err, p.Kill(context.WithoutCancel(ctx)))
	}
	if exit.Code == 0 && exit.Signal == "" {
		return "", nil
	}
	_, kept := output.Bytes()
	printed := bytes.TrimSpace([]byte(in.Mask(string(kept)))) // before it is cut: a part of a secret is not known
	if more := len(printed) - evalTail; more > 0 {
		printed = append([]byte("... "), printed[more:]...)
	}
	reason := fmt.Sprintf("exit code %d", exit.Code)
	if len(printed) > 0 {
		reason += ": " + strings.ToValidUTF8(string(printed), "")
	}
	return reason, nil
}
