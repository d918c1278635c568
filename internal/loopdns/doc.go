// Package loopdns is a name server on loopback for tests.
package loopdns
