// Package host prepares sessions in the way that all programs of this module do: with the provider whose key is in the environment, that
// provider's profile, a directory on this machine, journals among the user's sessions, and permissions. [Open] does all of it, from a
// [Config]; the functions beside it do the parts.
//
// A program that uses it keeps its own way of asking and showing, such as flags and a terminal, or a protocol.
package host
