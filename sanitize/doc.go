// Package sanitize makes text from programs, files and models safe to show: no character of it acts on a terminal or is hidden from
// the reader. Everything that a model, an event or a person sees passes through it.
//
// [Cleaner] and [Terminal] clean what a program prints for a terminal, [Text] cleans any other text, and a [Writer] protects a real
// terminal.
package sanitize
