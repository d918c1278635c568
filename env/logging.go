package env

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Logging returns a view of e that logs every operation when it has ended. With a nil log it
// returns e.
//
// The message is the operation; its object is in the attributes, and durations are slog durations:
//
//	open     name, duration
//	write    name, bytes, duration
//	replace  name, bytes, duration
//	remove   name, duration
//	delete   name, duration
//	lock     names, duration
//	resolve  name, duration
//	stat     name, duration
//	readdir  name, entries, duration
//	lstat    name, duration
//	readlink name, duration
//	symlink  name, target, duration
//	mkdir    name, duration
//	chmod    name, mode, duration
//	start    process, script, dir if one was given, env: the names of added variables, duration
//	exit     process, code, signal if any, stdout and stderr in bytes, left: the number of processes, duration; logged by the first Wait that returns it
//	kill     process, duration
//
// A search that e does itself is logged under the search's name. Failures also have an error.
// Scripts are logged; contents, input, output and the values of environment variables never are.
//
// Operations that only read are logged at slog.LevelDebug, those that may change something at
// slog.LevelInfo, and failures at slog.LevelWarn. A missing file on reading, a look above the
// allowed directories, as a search for a repository takes, an ended context and a failing command
// are normal and do not count as failures.
func Logging(e Environment, log *slog.Logger) Environment {
	if log == nil {
		return e
	}
	return logging{Base{e}, log}
}

type logging struct {
	Base
	log *slog.Logger
}

// record logs an operation that has ended, unless the environment does not support it.
func (l logging) record(ctx context.Context, level slog.Level, op string, took time.Duration, err error,
	attrs ...slog.Attr) {
	if op != "start" && errors.Is(err, errors.ErrUnsupported) {
		return
	}
	if err != nil {
		if !isUsual(level, op, err) && ctx.Err() == nil {
			level = slog.LevelWarn
		}
		attrs = append(attrs, slog.Any("error", err))
	}
	if l.log.Enabled(ctx, level) {
		l.log.LogAttrs(ctx, level, op, append(attrs, slog.Duration("duration", took))...)
	}
}

// isUsual reports whether an error is no failure: of a read file that is missing, or a stat outside
// of the allowed directories.
func isUsual(level slog.Level, op string, err error) bool {
	_, outside := errors.AsType[*outsideError](err)
	return level == slog.LevelDebug && errors.Is(err, fs.ErrNotExist) || op == "stat" && outside
}

func (l logging) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return read(ctx, l, "open", name, func() (io.ReadCloser, error) { return l.Environment.Open(ctx, name) })
}

// read does something with a file that changes nothing, and logs it.
func read[T any](ctx context.Context, l logging, op, name string, do func() (T, error)) (T, error) {
	began := time.Now()
	v, err := do()
	l.record(ctx, slog.LevelDebug, op, time.Since(began), err, slog.String("name", name))
	return v, err
}

// change changes a file and logs that.
func (l logging) change(ctx context.Context, op, name string, do func() error, attrs ...slog.Attr) error {
	began := time.Now()
	err := do()
	l.record(ctx, slog.LevelInfo, op, time.Since(began), err,
		append([]slog.Attr{slog.String("name", name)}, attrs...)...)
	return err
}

func (l logging) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	write := func() error { return l.Environment.WriteFile(ctx, name, data, perm) }
	return l.change(ctx, "write", name, write, slog.Int("bytes", len(data)))
}

func (l logging) Remove(ctx context.Context, name string) error {
	return l.change(ctx, "remove", name, func() error { return l.Environment.Remove(ctx, name) })
}

// Replace implements Replacer if the wrapped environment does.
func (l logging) Replace(ctx context.Context, name string, was Hash, data []byte, perm fs.FileMode) error {
	replace := func() error { return replaceBelow(ctx, l.Environment, name, was, data, perm) }
	return l.change(ctx, "replace", name, replace, slog.Int("bytes", len(data)))
}

// Delete implements Replacer if the wrapped environment does.
func (l logging) Delete(ctx context.Context, name string, was Hash) error {
	return l.change(ctx, "delete", name, func() error { return deleteBelow(ctx, l.Environment, name, was) })
}

// Lstat implements Tree.
func (l logging) Lstat(ctx context.Context, name string) (Node, error) {
	return read(ctx, l, "lstat", name, func() (Node, error) { return l.Base.Lstat(ctx, name) })
}

// Readlink implements Tree.
func (l logging) Readlink(ctx context.Context, name string) (string, error) {
	return read(ctx, l, "readlink", name, func() (string, error) { return l.Base.Readlink(ctx, name) })
}

// Symlink implements Tree.
func (l logging) Symlink(ctx context.Context, target, name string) error {
	link := func() error { return TreeOf(l.Environment).Symlink(ctx, target, name) }
	return l.change(ctx, "symlink", name, link, slog.String("target", target))
}

// Mkdir implements Tree.
func (l logging) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return l.change(ctx, "mkdir", name, func() error { return TreeOf(l.Environment).Mkdir(ctx, name, perm) })
}

// Chmod implements Tree.
func (l logging) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	chmod := func() error { return TreeOf(l.Environment).Chmod(ctx, name, perm) }
	return l.change(ctx, "chmod", name, chmod, slog.String("mode", perm.String()))
}

// Lock implements Locker.
func (l logging) Lock(ctx context.Context, names ...string) (unlock func(), err error) {
	began := time.Now()
	unlock, err = Lock(ctx, l.Environment, names...)
	l.record(ctx, slog.LevelDebug, "lock", time.Since(began), err, slog.Any("names", names))
	return unlock, err
}

// Resolve implements Resolver.
func (l logging) Resolve(ctx context.Context, name string) (string, error) {
	return read(ctx, l, "resolve", name, func() (string, error) { return l.Base.Resolve(ctx, name) })
}

func (l logging) Stat(ctx context.Context, name string) (Info, error) {
	return read(ctx, l, "stat", name, func() (Info, error) { return l.Environment.Stat(ctx, name) })
}

func (l logging) ReadDir(ctx context.Context, name string) ([]Info, error) {
	began := time.Now()
	list, err := l.Environment.ReadDir(ctx, name)
	l.record(ctx, slog.LevelDebug, "readdir", time.Since(began), err, slog.String("name", name),
		slog.Int("entries", len(list)))
	return list, err
}

// Below implements View. It logs a search of the wrapped environment under the search's name.
func (l logging) Below(ctx context.Context, op, name string) (Environment, func(error)) {
	began := time.Now()
	return l.Environment, func(err error) {
		l.record(ctx, slog.LevelDebug, op, time.Since(began), err, slog.String("name", name))
	}
}

func (l logging) Start(ctx context.Context, cmd Command) (Process, error) {
	began := time.Now()
	p := &loggedProcess{logging: l}
	attrs := []slog.Attr{slog.String("script", cmd.Script)}
	if cmd.Dir != "" {
		attrs = append(attrs, slog.String("dir", cmd.Dir))
	}
	if len(cmd.Env) > 0 {
		attrs = append(attrs, slog.Any("env", variableNames(cmd.Env)))
	}
	output := cmd.Output
	cmd.Output = func(stream int, b []byte) {
		if stream == Stdout || stream == Stderr {
			p.printed[stream].Add(int64(len(b)))
		}
		if output != nil {
			output(stream, b)
		}
	}
	var err error
	if p.Process, err = l.Environment.Start(ctx, cmd); err != nil {
		l.record(ctx, slog.LevelInfo, "start", time.Since(began), err, attrs...)
		return nil, err
	}
	l.record(ctx, slog.LevelInfo, "start", time.Since(began), nil,
		append([]slog.Attr{slog.String("process", p.ID())}, attrs...)...)
	return p, nil
}

func variableNames(environ []string) []string {
	names := make([]string, len(environ))
	for i, v := range environ {
		names[i], _, _ = strings.Cut(v, "=")
	}
	return names
}

// loggedProcess logs the end of a command.
type loggedProcess struct {
	Process
	logging logging
	printed [Stderr + 1]atomic.Int64 // by stream
	ended   sync.Once
}

func (p *loggedProcess) Wait(ctx context.Context) (Exit, error) {
	exit, err := p.Process.Wait(ctx)
	if err != nil && ctx.Err() != nil { // the waiting has ended, not the command
		return exit, err
	}
	p.ended.Do(func() {
		attrs := []slog.Attr{slog.String("process", p.ID()), slog.Int("code", exit.Code)}
		if exit.Signal != "" {
			attrs = append(attrs, slog.String("signal", exit.Signal))
		}
		attrs = append(attrs, slog.Int64("stdout", p.printed[Stdout].Load()),
			slog.Int64("stderr", p.printed[Stderr].Load()))
		if len(exit.Left) > 0 {
			attrs = append(attrs, slog.Int("left", len(exit.Left)))
		}
		if len(exit.Limits) > 0 {
			attrs = append(attrs, slog.String("limits", strings.Join(exit.Limits, ", ")))
		}
		p.logging.record(ctx, slog.LevelInfo, "exit", exit.Duration, err, attrs...)
	})
	return exit, err
}

func (p *loggedProcess) Kill(ctx context.Context) error {
	began := time.Now()
	err := p.Process.Kill(ctx)
	p.logging.record(ctx, slog.LevelInfo, "kill", time.Since(began), err, slog.String("process", p.ID()))
	return err
}
