package env

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// Environment provides files and commands. All methods are safe for concurrent use. Errors of the
// file methods wrap fs.ErrNotExist, fs.ErrPermission and so on, so errors.Is works wherever the
// environment is. The interface has no Close: whoever made an environment closes it.
type Environment interface {
	// Open opens a regular file for reading. Anything else (a directory, a device, a FIFO) is an
	// error.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// WriteFile replaces a file's content atomically and makes missing parent directories. An
	// existing file keeps its mode; a new one gets perm. It follows a symbolic link and writes its
	// target.
	WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error
	// Remove deletes a file, or a symbolic link itself, or an empty directory.
	Remove(ctx context.Context, name string) error
	// Stat describes a file. It follows symbolic links.
	Stat(ctx context.Context, name string) (Info, error)
	// ReadDir lists a directory, sorted by name. Links are not followed: their Mode has
	// fs.ModeSymlink.
	ReadDir(ctx context.Context, name string) ([]Info, error)
	// Start starts a command. The context bounds only the start: a started process ends by itself,
	// by Kill, or with its environment.
	Start(ctx context.Context, cmd Command) (Process, error)
	// WorkDir returns the absolute path that relative names start from.
	WorkDir() string
	Platform() Platform
}

// Info describes a file. It is a plain struct so that a remote environment can send it.
type Info struct {
	Name    string      `json:"name"` // the last element of the path
	Size    int64       `json:"size"` // in bytes
	Mode    fs.FileMode `json:"mode"`
	ModTime time.Time   `json:"mod_time"`
}

// IsDir reports whether the file is a directory.
func (i Info) IsDir() bool { return i.Mode.IsDir() }

// Platform describes the machine to the model.
type Platform struct {
	OS      string `json:"os"`      // as in GOOS
	Arch    string `json:"arch"`    // as in GOARCH
	Version string `json:"version"` // of the operating system, for people
	Shell   string `json:"shell"`   // the path of the shell that runs scripts
}

// The streams of a command's output.
const (
	Stdout = 1
	Stderr = 2
)

// Command is a script for the environment's shell.
type Command struct {
	Script string
	// Dir is the directory it runs in; empty means the working directory.
	Dir string
	// Env is added to the variables that the environment passes on, as KEY=value.
	Env []string
	// Stdin gives the process a pipe to read from. Otherwise its input is empty.
	Stdin bool
	// TTY, when set, gives the process a terminal of that size. All output then comes on Stdout.
	TTY *Size
	// Output receives the output as it arrives, one call at a time. p is valid only during the
	// call. Output is not called any more once Wait has returned an exit. Nil discards the output.
	Output func(stream int, p []byte)
	// Ended is called when no process of the command has a stream open any more, also long before
	// the command ends. It must return soon. An environment that does not notice that need not call
	// it.
	Ended func(stream int)
}

// Size is the size of a terminal, in characters.
type Size struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// Process is a started command together with all processes that it started.
type Process interface {
	// ID identifies the process within its environment. Ids are not reused.
	ID() string
	// Stdin returns the writer of the command's input. It is nil unless Command.Stdin or TTY was
	// set.
	Stdin() io.WriteCloser
	// Wait waits for the command to end. The context ends the waiting, not the process. It may be
	// called repeatedly and concurrently.
	Wait(ctx context.Context) (Exit, error)
	// Kill asks all processes of the command to end (TERM), kills them after the environment's
	// grace time, and returns when they are gone. If the command has ended already, Kill ends only
	// what it left running.
	Kill(ctx context.Context) error
}

// Exit describes how a command ended.
type Exit struct {
	// Code is the exit code, or -1 after a signal.
	Code int `json:"code"`
	// Signal names the signal that ended it, such as SIGKILL; empty for an exit.
	Signal   string        `json:"signal,omitempty"`
	Duration time.Duration `json:"duration"`
	// Left lists the processes that the command left running, one line each, as far as the
	// environment knows them.
	Left []string `json:"left,omitempty"`
	// Killed lists the command lines of the processes that ran when the command was killed, without
	// the shell itself.
	Killed []string `json:"killed,omitempty"`
	// Limits names the limits that the command reached, such as "at most 4096 processes", as far as
	// the environment knows.
	Limits []string `json:"limits,omitempty"`
}
