// Package lastline keeps the end of what a program prints for people, for errors that say why it
// ended.
package lastline
