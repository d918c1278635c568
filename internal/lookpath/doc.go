// Package lookpath finds programs in PATH that are in no directory of a session: there a session,
// or whoever wrote the repository, can put programs, and an activated environment of Python or Node
// puts such a directory first.
package lookpath
