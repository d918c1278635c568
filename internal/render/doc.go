// Package render turns events, calls and questions into text for a person: structure in, finished lines out. It writes nothing itself and
// keeps no state beside the values that callers hold. All text of models, programs and files is cleaned by package sanitize.
//
// A screen gets events as finished lines, the unfinished end of an answer as plain text, and one line for what runs. The live line of
// attractor run lies below every writer of the terminal, so nothing is written into it. A pipe gets answers as they are.
//
// Markdown is parsed here, because it is shown while it arrives, and the text is untrusted. Of the libraries, gomarkdown takes quadratic time for
// hostile texts, and rsc.io/markdown adds 0.4 ms to each start; the tests compare with the latter.
package render
