// Package dialog asks a person about tool calls and puts the model's questions to them, line by line. It knows no terminal: a [Person] does.
package dialog
