// Package sanitize makes text of other people's programs, files and models safe to show: nothing in it acts on a terminal, and nothing in it
// is hidden from whoever reads it. Everything that a model, an event or a person sees passes here.
//
// [Cleaner] and [Terminal] take what a program prints for a terminal, [Text] takes any other text, and a [Writer] is the last door before a
// real terminal.
package sanitize
