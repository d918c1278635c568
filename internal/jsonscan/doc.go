// Package jsonscan reads JSON in one pass if it has the form in which this module writes it: compact, and with the members of an object in
// a known order. A caller falls back on encoding/json for any other form, so that both give the same values for all JSON.
// AppendString writes a string of that form.
package jsonscan
