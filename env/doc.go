// Package env is where tools run: the files they read and write and the commands they start.
//
// [Environment] is the interface, small enough to implement for a container or a remote host in about a hundred lines. [Local]
// is this machine. Contents are raw bytes: nothing here numbers lines, explains or truncates; tools do that.
//
// Paths are slash-separated on every platform, absolute or relative to the working directory.
package env
