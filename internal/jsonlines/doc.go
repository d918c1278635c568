// Package jsonlines reads JSON files that people write, with the lines on which things stand, so
// that a mistake can be told with its line.
package jsonlines
