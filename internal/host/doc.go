// Package host prepares sessions for the programs of this module: with the provider whose key is in the environment, that provider's
// profile, a directory on this machine, a journal among the user's sessions, and permissions. [Open] prepares all of it from a [Config].
// The other functions do single parts.
//
// Each program has its own user interface, such as flags and a terminal, or a protocol.
package host
