package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/llm"
)

// resultFlags holds the names of the files that a run writes beside what it prints.
type resultFlags struct{ output, result string }

func (f *resultFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.output, "output", "", "also write the answer to this `file`")
	flags.StringVar(&f.result, "result", "",
		"write a JSON object to this `file` at the end: the answer, or the error, and what was changed and spent "+
			"(docs/results.md)")
}

// resultFiles holds the open files of [resultFlags]. Each is nil if its flag is not given.
type resultFiles struct{ output, result *os.File }

// create makes the files anew, so that those of an earlier run are gone whatever happens.
func (f *resultFlags) create(given func(flag string) bool) (files resultFiles, err error) {
	if given("output") {
		files.output, err = createFile("output", f.output)
	}
	if err == nil && given("result") {
		files.result, err = createFile("result", f.result)
	}
	if err == nil && files.overlap() {
		return files, fail(exitUsage, "--output and --result name the same file, %s; give each its own", f.result)
	}
	return files, err
}

// overlap reports whether the two are one file, in which they would overwrite each other. Devices
// and pipes take both.
func (f resultFiles) overlap() bool {
	if f.output == nil || f.result == nil {
		return false
	}
	output, err := f.output.Stat()
	return err == nil && output.Mode().IsRegular() && samePlace(f.output, f.result)
}

// createFile creates or truncates the file that a flag names.
func createFile(flag, name string) (*os.File, error) {
	if name == "" {
		return nil, fail(exitUsage, "--%s needs the name of a file", flag)
	}
	if at := ledAway(name); at != "" {
		return nil, fail(exitUsage, "--%s: %s", flag, followsNoLink(name, at))
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, fail(exitUsage, "--%s: %w", flag, err)
	}
	return file, nil
}

// followsNoLink returns why a file is not written.
func followsNoLink(name, target string) string {
	return fmt.Sprintf("%s leads through a symbolic link to %s, and the link may be the repository's. Name that file "+
		"itself, or another one", name, target)
}

// ledAway returns the target of a name that is a symbolic link, or that begins in the working
// directory and leaves it through one: a repository can bring such links. It returns "" for other
// names, and for links of the system, such as /dev/stdout.
func ledAway(name string) string {
	work, _ := os.Getwd() // if it is gone, making the file tells it
	return ledAwayFrom(work, name)
}

// ledAwayFrom is ledAway for a name in another working directory, which is absolute.
func ledAwayFrom(work, name string) string {
	abs := filepath.Clean(name)
	if !filepath.IsAbs(name) {
		abs = filepath.Join(work, name)
	}
	if strings.HasPrefix(abs, "/dev/") || strings.HasPrefix(abs, "/proc/") {
		return ""
	}
	if target, err := os.Readlink(abs); err == nil {
		return target
	}
	if !filepath.IsLocal(name) || abs == work {
		return ""
	}
	here, err := filepath.EvalSymlinks(work)
	dir, errDir := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil || errDir != nil {
		return ""
	}
	if below, err := filepath.Rel(here, dir); err != nil || !filepath.IsLocal(below) {
		return filepath.Join(dir, filepath.Base(abs))
	}
	return ""
}

// runResult is the JSON object of --result. Its texts are without secrets.
type runResult struct {
	SessionID string       `json:"session_id,omitempty"` // none if no session began
	ExitCode  int          `json:"exit_code"`
	Error     string       `json:"error,omitempty"`
	ErrorKind string       `json:"error_kind,omitempty"` // of a failed call of a model
	Reason    agent.Reason `json:"reason,omitempty"`
	Answer    string       `json:"answer,omitempty"`
	Turns     int          `json:"turns,omitempty"`
	Usage     llm.Usage    `json:"usage,omitzero"`
	CostUSD   float64      `json:"cost_usd,omitempty"` // of this run; 0 where prices are unknown
	// Changes are those of the whole session, without their texts, which Patch has.
	Changes []checkpoint.FileDiff `json:"changes,omitempty"`
	Patch   string                `json:"patch,omitempty"`
	// Unrecorded says why the changes, or some of them, are not here.
	Unrecorded string `json:"unrecorded,omitempty"`
}

// maxPatch bounds the patch of a result, in bytes. What does not fit is left out, and that is said.
const maxPatch = 64 << 20

// keep notes how the last input has ended, if --output or --result was given. ended is nil if no
// input was begun. The session must not have released its records yet.
func (r *runner) keep(ctx context.Context, ended *agent.Result) {
	kept := r.kept
	if kept == nil {
		return
	}
	kept.SessionID = r.Options.ID
	if ended != nil {
		kept.Reason, kept.Answer = ended.Reason, r.Secrets.String(ended.Text)
		kept.Turns, kept.Usage, kept.CostUSD = ended.Turns, ended.Usage, ended.CostUSD
	}
	diff, err := r.Diff(context.WithoutCancel(ctx), maxPatch)
	if err != nil {
		kept.Unrecorded = r.Secrets.String(err.Error())
		return
	}
	if diff.More > 0 {
		kept.Unrecorded = fmt.Sprintf("%d more changed paths are left out, because there are too many, or they are "+
			"too long", diff.More)
	}
	for _, file := range diff.Files {
		kept.Patch += file.Text
		file.Text = ""
		kept.Changes = append(kept.Changes, file)
	}
}

// write writes and closes the files of a run that ended with an error, or nil.
func (f resultFiles) write(kept *runResult, ended error) error {
	var errs []error
	if f.output != nil {
		text := kept.Answer
		if text != "" {
			text += "\n"
		}
		_, err := f.output.WriteString(text)
		errs = append(errs, err, f.output.Close())
	}
	if f.result != nil {
		if ended != nil {
			kept.ExitCode, kept.Error = exitCode(ended), environmentSecrets().String(ended.Error())
			if failed := (*llm.Error)(nil); errors.As(ended, &failed) {
				kept.ErrorKind = llm.KindOf(failed)
			}
		}
		errs = append(errs, writeLine(f.result, kept), f.result.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fail(exitFailed, "the result cannot be written: %w", err)
	}
	return nil
}
