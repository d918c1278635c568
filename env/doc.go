// Package env is where tools run: the files they read and write and the commands they start.
//
// [Environment] is the interface, small enough to implement for a container or a remote host in about a hundred lines. [Local]
// is this machine. Contents are raw bytes: nothing here numbers lines, explains or truncates; tools do that.
//
// A command is held together with all that it starts, so that nothing of it is left when it is killed or the environment is
// closed. How far that goes is the level of containment: [ContainCgroup], [ContainPIDNS] or [ContainGroup].
//
// What an environment may have beyond that are interfaces of their own, such as [Replacer], [Tree] and [Graceful]. The functions that wrap an
// environment forward all of them; where the environment below has not what is asked for, the error wraps errors.ErrUnsupported.
//
// Paths are slash-separated on every platform, absolute or relative to the working directory.
package env
