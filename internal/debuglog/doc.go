// Package debuglog writes the file of --debug: the log of a program's sessions, and their requests
// to models with the responses, as lines of JSON without secrets.
//
// The file is one handler for all sessions of a program; each session's masker stands in front of
// it. Requests to models are logged by the providers' HTTP client, and everything else by the doors
// for slog. Nothing of it exists without the flag.
package debuglog
