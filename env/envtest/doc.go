// Package envtest tests environments and provides one for tests.
//
// [Suite] checks that an implementation of env.Environment behaves as its users expect; [SuiteWith]
// leaves out features that it does not have. [Memory] is an environment for tests of code that uses
// one: its files are in memory, and a Go function runs its commands.
//
// A Memory runs no shell and has no symbolic links. Tests of what commands do need an env.Local.
package envtest
