// Package envtest is for those who write environments and those who test with them: [Suite] tells whether an implementation of
// env.Environment behaves as its users expect, and [Memory] is an environment without disk, processes and time.
package envtest
