// Package contain starts commands so that every process that they start is found again when it has
// to end: by a cgroup, by a PID namespace or by the process group, whatever works on the machine.
// env.Local uses it, and package env documents the levels.
package contain
