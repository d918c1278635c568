// Package debuglog writes the file of --debug: the log of a program's sessions, and their requests to models with the responses, as lines of
// JSON without secrets.
package debuglog
