// Package systemprompt renders the system prompt of a session: the profile's text, the place where
// it works, notes on its tools, the documents of the project and the host's instructions. It knows
// no session; package agent renders the prompt once and keeps it.
package systemprompt
