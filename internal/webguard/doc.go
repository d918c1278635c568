// Package webguard holds what the servers of this module check before they answer: where a request
// comes from, which name of the server and which token it has. The viewer and the server of
// sessions share it.
package webguard
