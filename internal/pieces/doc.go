// Package pieces holds a long text that arrives in pieces, and writes it as JSON, without copying
// the whole whenever it grows.
package pieces
