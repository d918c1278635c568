// Package envtest tests environments and provides one for tests: [Suite] checks that an implementation of env.Environment behaves
// as its users expect, and [Memory] is an environment without disk, processes and time.
package envtest
