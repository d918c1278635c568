// Package soak runs sessions with random faults, kills and floods until a time is over, for tests.
// It checks that every session comes to an end that is allowed, that every journal can be read and
// replayed, and that nothing is left of them.
//
// A trial is one session with everything that happens to it. It has several lives: in each, the
// session is started or resumed, works, and ends in some way. Its last life has no faults, and
// there the session has to come to its end. A seed repeats a trial, apart from the order in which
// goroutines and processes run.
package soak
