package env

import "os"

// Launch is how a command is going to be started. LocalOptions.Launch may change all of it, to put something around the command: a sandbox, a
// priority, a tracer. What is started is held together, killed and waited for like any command; its terminal or pipes, its process group and
// session are made before and are the same.
type Launch struct {
	// Args are the program and its arguments: at first the shell, -c and the script. The program is a path, or is looked for in the PATH
	// of this process.
	Args []string
	// Dir is the working directory, an absolute path of this machine.
	Dir string
	// Env is the whole environment, as KEY=value. The last entry of a variable counts. On Linux MarkVar is added to it afterwards.
	Env []string
	// Files are open in the program under the numbers from 3 on. They are closed here when the command has started, or cannot.
	Files []*os.File
}
