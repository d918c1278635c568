// Package version says which version of Attractor the running program has, and which command
// installs another of its programs in the same version. Programs of different versions may not
// understand each other, so no text names the newest one.
package version
