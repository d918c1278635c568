// Package guard runs foreign code that may panic or call runtime.Goexit. It turns both into errors,
// so that whoever waits for the code always continues.
package guard
