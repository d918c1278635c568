// Package render turns events, calls and questions into text for a person: structure in, finished lines out. It writes nothing itself and
// keeps no state beside the values that callers hold. All text of models, programs and files is cleaned by package sanitize.
package render
