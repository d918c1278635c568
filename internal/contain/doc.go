// Package contain holds together what a command starts, so that all of it is found again when it has to end: by a cgroup, a PID namespace or
// the process group, whatever works on the machine. It is what env.Local stands on; package env documents the levels for users.
package contain
