// Package envtest tells whether an implementation of env.Environment behaves as its users expect.
package envtest
