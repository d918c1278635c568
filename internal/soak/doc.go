// Package soak runs sessions with random faults, kills and floods for a time, for tests. It checks
// that every session ends in a way that is allowed, that every journal can be read and replayed,
// and that no processes, files or memory of the sessions are left.
//
// A trial is one session with everything that happens to it. It has several lives: in each, the
// session is started or resumed, works, and ends in some way. The last life has no faults, and the
// session has to complete in it. A seed repeats a trial, apart from the order in which goroutines
// and processes run.
package soak
