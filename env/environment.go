package env

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// Environment is a place with files and commands. All methods are safe for concurrent use. Errors of the file methods wrap
// fs.ErrNotExist, fs.ErrPermission and friends, so that errors.Is works on them wherever the environment is. Whoever made an
// environment closes it; the interface has no Close because those who use one do not.
type Environment interface {
	// Open reads a regular file. Anything else (a directory, a device, a FIFO) is an error.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// WriteFile replaces a file's content atomically, making parent directories. An existing file keeps its mode; a new one
	// gets perm. A symbolic link is followed: its target is written.
	WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error
	// Remove deletes a file, or a symbolic link itself, or an empty directory.
	Remove(ctx context.Context, name string) error
	// Stat follows symbolic links.
	Stat(ctx context.Context, name string) (Info, error)
	// ReadDir lists a directory, sorted by name. Links are not followed: their Mode has fs.ModeSymlink.
	ReadDir(ctx context.Context, name string) ([]Info, error)
	// Start runs a command. It is the only way to run something. The context bounds the start alone: a started process ends by
	// itself, by Kill, or with its environment.
	Start(ctx context.Context, cmd Command) (Process, error)
	// WorkDir is the absolute path that relative names start from.
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

// Platform is what a model is told of the machine.
type Platform struct {
	OS      string `json:"os"`      // as in GOOS
	Arch    string `json:"arch"`    // as in GOARCH
	Version string `json:"version"` // of the operating system, for people
	Shell   string `json:"shell"`   // the path of what runs scripts
}

// The streams of a command's output.
const (
	Stdout = 1
	Stderr = 2
)

// Command is a script for the environment's shell.
type Command struct {
	Script string
	// Dir is where it runs; empty means the working directory.
	Dir string
	// Env is added to what the environment passes on, as KEY=value.
	Env []string
	// Stdin says that the process gets a pipe to read from. Otherwise it reads nothing.
	Stdin bool
	// TTY, when set, gives the process a terminal of that size: one stream, Stdout.
	TTY *Size
	// Output receives what the process prints, as it comes, one call at a time and in arrival order; p is valid only during the
	// call. No call comes after Wait has returned an exit. Nil discards.
	Output func(stream int, p []byte)
}

// Size is a terminal's, in characters.
type Size struct{ Rows, Cols uint16 }

// Process is a started command with everything that it started.
type Process interface {
	// ID names the process within its environment. An id is not used again.
	ID() string
	// Stdin is where its input is written and closed; nil unless Command.Stdin or TTY was set.
	Stdin() io.WriteCloser
	// Wait waits for the command to end. The context ends the waiting, not the process. It may be called again, and by several
	// at once.
	Wait(ctx context.Context) (Exit, error)
	// Kill asks the whole tree to end (TERM), kills it after the environment's grace time, and is back when it is gone.
	// Afterwards, and for a process that has ended, it does nothing but end what the command left running.
	Kill(ctx context.Context) error
}

// Exit is how a command ended.
type Exit struct {
	// Code is the exit code, or -1 after a signal.
	Code int `json:"code"`
	// Signal names the signal that ended it, such as SIGKILL; empty for an exit.
	Signal   string        `json:"signal,omitempty"`
	Duration time.Duration `json:"duration"`
	// Left names what the command left running, one line a process, as far as the environment can tell.
	Left []string `json:"left,omitempty"`
}

// Contained is implemented by environments that can say how a command's tree is held together, for SESSION_START: cgroup+pidns,
// pidns, cgroup or group.
type Contained interface{ Containment() string }

// Containment is e's word for it, or "unknown".
func Containment(e Environment) string {
	if c, ok := e.(Contained); ok {
		return c.Containment()
	}
	return "unknown"
}

// Graceful is implemented by environments that can say how long a command may take to end once it is asked to.
type Graceful interface {
	// KillGrace returns the time that Process.Kill gives a tree between asking it to end and killing it.
	KillGrace() time.Duration
}

// KillGrace returns the time that e gives a command to end before it is killed, zero if e does not say.
func KillGrace(e Environment) time.Duration {
	if g, ok := e.(Graceful); ok {
		return g.KillGrace()
	}
	return 0
}

// Hiding is implemented by environments that can say whether commands see the processes of the host that starts them, with what
// those have in their environment and memory.
type Hiding interface{ HidesHost() bool }

// HidesHost reports whether e says that commands cannot see the host's processes.
func HidesHost(e Environment) bool {
	h, ok := e.(Hiding)
	return ok && h.HidesHost()
}
