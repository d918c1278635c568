// Package encoded shortens what in a text is encoded for machines and tells a reader nothing, such
// as pictures in notebooks.
package encoded
