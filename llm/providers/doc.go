// Package providers lists all providers of this library and creates a client of those that the
// environment configures.
//
// [FromEnv] is all that most programs need. A program with settings of its own takes a [Kind] from
// [Find] or [Kinds], fills in a [Config] and calls [Kind.New]. A program that imports one
// provider's package instead of this one links only that provider.
//
// Nothing is sent: a wrong key is noticed by the first request. Names of models are not checked.
package providers
