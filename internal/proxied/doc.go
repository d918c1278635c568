// Package proxied has an HTTP transport that tells which proxy has refused a connection, and with
// which status. Go's own has only the words behind the status as an error.
package proxied
