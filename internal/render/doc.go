// Package render turns events, calls and questions into text for a person: structure in, finished
// lines out. It writes nothing itself and keeps no state beside the values that callers hold. All
// text of models, programs and files is cleaned by package sanitize.
//
// A screen gets events as finished lines, the unfinished end of an answer as plain text, and one
// line for what runs. The live line of attractor run lies below every writer of the terminal, so
// nothing is written into it. A pipe gets answers as they are.
//
// A [Person] is asked line by line: [Approve] about tool calls, and [Reply] what the model wants to
// know. Neither knows a terminal.
//
// Markdown is shown while it arrives: it is divided where what comes cannot change what was, and
// goldmark parses each part. A part is small, because some hostile texts take goldmark quadratic
// time.
package render
