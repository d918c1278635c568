// Package textfile describes what the text of a file does not show: its encoding, its byte-order
// mark and its line ends. Tools that change files use it to keep these.
package textfile
