// Package guard runs code that belongs to somebody else. Such code may panic or call runtime.Goexit, on whatever goroutine it is
// called: here that becomes an error, and whoever waits for the code is never left waiting.
package guard
