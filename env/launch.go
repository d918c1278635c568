package env

import "os"

// Launch describes how a command will be started. LocalOptions.Launch may change all of it to run
// the command inside something else: a sandbox, another priority, a tracer. The started program is
// contained, killed and waited for like any command. Its terminal or pipes, process group and
// session are not affected.
type Launch struct {
	// Args holds the program and its arguments: initially the shell, -c and the script, after a
	// shell that sets limits if there are any for each process. The program is a path or is looked
	// up in this process's PATH.
	Args []string
	// Dir is the working directory, an absolute path of this machine.
	Dir string
	// Env is the whole environment, as KEY=value. The last entry for a variable counts. On Linux
	// MarkVar is added to it.
	Env []string
	// Files are open in the program as descriptors 3 and up. They are closed in this process once
	// the command has started or failed to.
	Files []*os.File
	// Terminal reports that the command has a terminal of its own. Without one it still belongs to
	// this process's terminal session, unless the program makes it a new one. Changing Terminal has
	// no effect.
	Terminal bool
	// Thread, when set by LocalOptions.Launch, is called on the thread that starts the program,
	// right before. The thread serves nothing else and ends soon, so what Thread does to it, such
	// as restricting it by Landlock, holds for the program and what that starts alone. It may be
	// called again if the program could not be started at the best level of containment. On Linux
	// only; elsewhere the command is refused with an error that wraps errors.ErrUnsupported.
	Thread func() error
	// Ended, when set by LocalOptions.Launch, is called once: when the started program has ended,
	// before Process.Wait returns, or when it could not be started. It must not take long: after a
	// second nobody waits for it.
	Ended func()
}
