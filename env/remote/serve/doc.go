// Package serve is the far side of package remote: it serves the files and commands of a machine
// over a stream of bytes.
//
// [Serve] serves one stream. [Standard] is the main function of a helper that is started by another
// program, such as ssh. Everything that a stream has started ends with it.
//
// Whoever writes to the stream can do what this process can: nothing here authenticates or
// confines.
package serve
