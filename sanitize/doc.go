// Package sanitize makes text from programs, files and models safe to show: no character of it acts
// on a terminal or is hidden from the reader. Everything that a model, an event or a person sees
// passes through it.
//
// [Terminal] cleans what a program has printed for a terminal, and a [Cleaner] the same while it
// arrives. [Text] cleans any other text, and [Line] makes one line of it. A [Writer] protects a
// real terminal.
//
// Cleaning is not masking and not judging: secrets stay (package secret masks them), and so does
// what a text tells a model to do.
package sanitize
