// Package profiles finds the profiles of the families of models by their names.
//
// [Find] returns a profile, as the packages profile/anthropic, profile/openai and profile/gemini
// build it, for programs that have its name from a flag or a file. A program that knows which one
// it wants imports that package alone. The names are also those of the providers that the profiles
// were made for; a model of another vendor works with any of them.
package profiles
