// Package sanitize makes text from programs, files and models safe to show: nothing in it acts on a terminal, and nothing in it is hidden from
// whoever reads it. Everything that a model, an event or a person sees passes through it.
//
// [Cleaner] and [Terminal] are for what a program prints for a terminal, [Text] is for any other text, and a [Writer] stands before a real
// terminal.
package sanitize
