//go:build unix

package envtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
)

// mutation is an environment with one defect, and the check that must find it.
type mutation struct {
	defect string
	check  string
	opts   Options
	mutate func(t *testing.T, e env.Environment) env.Environment
}

// Every defect is found by the check for it, and every check finds one.
func TestD1_SuiteFindsDefects(t *testing.T) {
	all := slices.Concat(fileChecks, writeChecks, replaceChecks, treeChecks, commandChecks, processChecks, killChecks)
	mutations := slices.Concat(contentMutations(), errorMutations(), kindMutations(), infoMutations(), nameMutations(),
		linkMutations(),
		writeMutations(), onlyTheFileMutations(), removeMutations(), replaceMutations(), deleteMutations(),
		lockMutations(),
		lstatMutations(), openDirMutations(), linkTreeMutations(), modeMutations(),
		commandMutations(), inputMutations(), processMutations(), startMutations(), killMutations())
	for _, c := range all {
		if !slices.ContainsFunc(mutations, func(s mutation) bool { return s.check == c.name }) {
			t.Errorf("no defect shows that %s can fail", c.name)
		}
	}
	for _, s := range mutations {
		t.Run(s.check+"/"+s.defect, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS != "linux" && (s.check == "D3_Terminal" || s.check == "D4_KillEndsWhatLeftTheSession") {
				t.Skip("only on Linux does a Local have terminals and find processes that have left the session")
			}
			i := slices.IndexFunc(all, func(c check) bool { return c.name == s.check })
			if i < 0 {
				t.Fatal("unknown check")
			}
			dir := t.TempDir()
			// At ContainGroup a process has the same id for the test and for itself.
			local, err := env.NewLocal(dir,
				env.LocalOptions{Grace: 100 * time.Millisecond, Containment: env.ContainGroup})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := local.Close(); err != nil {
					t.Logf("Close after a mutant Kill: %v", err)
				}
			})
			e := s.mutate(t, local)
			if failed, said := verdict(t, all[i], e, s.opts); !failed {
				t.Errorf("the check passes: %q", said)
			}
		})
	}
}

// verdict runs a check and returns whether it failed, and its messages.
func verdict(t *testing.T, c check, e env.Environment, opts Options) (failed bool, said []string) {
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.check(r, e, opts, time.Second)
	}()
	<-done
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed, r.said
}

// recorder is a testing.TB whose failures do not fail the test.
type recorder struct {
	testing.TB
	mu     sync.Mutex
	failed bool
	said   []string
}

func (r *recorder) note(failed bool, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	r.said = append(r.said, text)
}

func (r *recorder) Error(args ...any)                 { r.note(true, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.note(true, fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any) {
	r.note(true, fmt.Sprint(args...))
	runtime.Goexit()
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.note(true, fmt.Sprintf(format, args...))
	runtime.Goexit()
}
func (r *recorder) Skip(args ...any) {
	r.note(false, fmt.Sprint(args...))
	runtime.Goexit()
}
func (r *recorder) Skipf(format string, args ...any) {
	r.note(false, fmt.Sprintf(format, args...))
	runtime.Goexit()
}

// mutant replaces some methods of an environment.
type mutant struct {
	env.Environment
	open     func(ctx context.Context, name string) (io.ReadCloser, error)
	write    func(ctx context.Context, name string, data []byte, perm fs.FileMode) error
	remove   func(ctx context.Context, name string) error
	stat     func(ctx context.Context, name string) (env.Info, error)
	readDir  func(ctx context.Context, name string) ([]env.Info, error)
	start    func(ctx context.Context, cmd env.Command) (env.Process, error)
	workDir  string
	platform *env.Platform
}

func (s mutant) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if s.open != nil {
		return s.open(ctx, name)
	}
	return s.Environment.Open(ctx, name)
}

func (s mutant) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	if s.write != nil {
		return s.write(ctx, name, data, perm)
	}
	return s.Environment.WriteFile(ctx, name, data, perm)
}

func (s mutant) Remove(ctx context.Context, name string) error {
	if s.remove != nil {
		return s.remove(ctx, name)
	}
	return s.Environment.Remove(ctx, name)
}

func (s mutant) Stat(ctx context.Context, name string) (env.Info, error) {
	if s.stat != nil {
		return s.stat(ctx, name)
	}
	return s.Environment.Stat(ctx, name)
}

func (s mutant) ReadDir(ctx context.Context, name string) ([]env.Info, error) {
	if s.readDir != nil {
		return s.readDir(ctx, name)
	}
	return s.Environment.ReadDir(ctx, name)
}

func (s mutant) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	if s.start != nil {
		return s.start(ctx, cmd)
	}
	return s.Environment.Start(ctx, cmd)
}

func (s mutant) WorkDir() string {
	if s.workDir != "" {
		return s.workDir
	}
	return s.Environment.WorkDir()
}

func (s mutant) Platform() env.Platform {
	if s.platform != nil {
		return *s.platform
	}
	return s.Environment.Platform()
}

// pathOf returns the path of an environment's file.
func pathOf(e env.Environment, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.WorkDir(), name)
}

// content returns an Open that changes the content.
func content(e env.Environment, change func(string) string) func(context.Context, string) (io.ReadCloser, error) {
	return func(ctx context.Context, name string) (io.ReadCloser, error) {
		f, err := e.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(f)
		return io.NopCloser(strings.NewReader(change(string(data)))), errors.Join(err, f.Close())
	}
}

// described returns a Stat that changes the result.
func described(e env.Environment, change func(*env.Info)) func(context.Context, string) (env.Info, error) {
	return func(ctx context.Context, name string) (env.Info, error) {
		info, err := e.Stat(ctx, name)
		change(&info)
		return info, err
	}
}

// listed returns a ReadDir that changes the result.
func listed(e env.Environment, change func([]env.Info) []env.Info) func(context.Context, string) ([]env.Info, error) {
	return func(ctx context.Context, name string) ([]env.Info, error) {
		list, err := e.ReadDir(ctx, name)
		return change(list), err
	}
}

// mute returns an error with the same text and no kind.
func mute(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.Error())
}

func infoOf(name string, fi fs.FileInfo) env.Info {
	return env.Info{Name: name, Size: fi.Size(), Mode: fi.Mode(), ModTime: fi.ModTime()}
}

// blockingOpen returns an Open that waits for the writer of a FIFO, which comes at the end of the
// test.
func blockingOpen(t *testing.T, e env.Environment) func(context.Context, string) (io.ReadCloser, error) {
	return func(_ context.Context, name string) (io.ReadCloser, error) {
		path := pathOf(e, name)
		opened := make(chan struct{})
		t.Cleanup(func() {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return
			}
			<-opened
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
		defer close(opened)
		return os.Open(path)
	}
}
