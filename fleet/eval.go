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
)

// Eval judges what an agent has left when its session has come to an end, for evaluations. The agent
// sees nothing of it. A task passes if all that is set holds.
type Eval struct {
	// Files are written into the workspace first, such as tests that the agent must not see, by
	// their paths. They replace what is there.
	Files map[string]string `json:"files,omitempty"`
	// Patch is applied by git behind them. A file that it changes is as it was cloned before, if
	// the agent has changed it.
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
	// Reason says why it has not, or could not be judged, such as the end of the Check's output.
	Reason string `json:"reason,omitempty"`
}

// The bounds of an Eval.
const (
	evalTime  = 30 * time.Minute
	mostFiles = 1000
	evalTail  = 2 << 10 // bytes of output in a Verdict
)

// check checks what is to be judged.
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

// judge returns the verdict about what a session has left.
func (j *Job) judge(answer string) *Verdict {
	e := j.Task.Eval
	stop, end := j.orderly()
	defer end()
	ctx, cancel := context.WithTimeout(stop, cmp.Or(time.Duration(e.Time), evalTime))
	defer cancel()
	why := e.wrongAnswer(answer)
	if why == "" && e.Check != "" {
		var err error
		if why, err = j.runCheck(ctx); err != nil {
			why = "the check could not be run: " + err.Error()
		}
		if ctx.Err() != nil {
			why = fmt.Sprintf("the check has not ended within %v", cmp.Or(time.Duration(e.Time), evalTime))
		}
	}
	if cause := cmp.Or(j.cause(), context.Cause(stop)); cause != nil {
		why = "not judged: " + cause.Error()
	}
	return &Verdict{Passed: why == "", Reason: cutText(why, mostReason)}
}

// runCheck runs the check where the host wants it to. It says why the check failed, or "".
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
	return j.Task.Eval.run(ctx, in)
}

// wrongAnswer says in which way an answer is not the one that is wanted, or "".
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

// run prepares the workspace and runs the check. It says why the check failed, or "".
func (e *Eval) run(ctx context.Context, in Judged) (why string, err error) {
	for _, name := range slices.Sorted(maps.Keys(e.Files)) {
		if err := in.Env.WriteFile(ctx, name, []byte(e.Files[name]), 0o644); err != nil {
			return "", err
		}
	}
	if e.Patch != "" {
		const apply = `patch=$(cat) && files=$(printf '%s\n' "$patch" | sed -n 's,^--- a/,,p') && ` +
			`{ [ -z "$files" ] || printf '%s\n' "$files" | tr '\n' '\0' | xargs -0 git checkout -q HEAD --; } && ` +
			`printf '%s\n' "$patch" | git apply --whitespace=nowarn -`
		if why, err = script(ctx, in, apply, e.Patch); err != nil || why != "" {
			return "", errors.Join(err, errors.New("the patch cannot be applied: "+why))
		}
	}
	return script(ctx, in, e.Check, "")
}

// script runs a script until it ends, or ctx does. It says how the script failed, or "".
func script(ctx context.Context, in Judged, text, input string) (why string, err error) {
	output := capture.New(capture.Options{Head: -1, Tail: 32 * evalTail})
	p, err := in.Env.Start(ctx, env.Command{Script: text, Stdin: true, Output: output.Write})
	if err != nil {
		return "", err
	}
	go func() { // ends with the process
		_, _ = p.Stdin().Write([]byte(input)) // a script need not read it
		_ = p.Stdin().Close()
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
	return fmt.Sprintf("exit code %d: %s", exit.Code, strings.ToValidUTF8(string(printed), "")), nil
}
