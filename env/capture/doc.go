// Package capture keeps output that may be long in bounded memory: its beginning, its end, and
// exact counts of what is missing between them.
//
// The Write method of a [Buffer] is the Output of an env.Command. Text returns what is kept, with a
// line that says how much is not. Since returns what is new to somebody who follows a running
// command.
//
// The package starts no commands and does not change what they print: package sanitize removes
// escape sequences.
package capture
