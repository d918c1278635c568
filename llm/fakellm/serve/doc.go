// Command serve runs the scripted model of package fakellm, in all its formats, to be started by
// hand:
//
//	go run ./llm/fakellm/serve -addr 127.0.0.1:8080 -script turns.json
//
// The script is a JSON array of turns, such as
// [{"text":"Hi.","calls":[{"name":"shell","args":{"command":"ls"}}]},{"text":"Done."}]. The command
// prints the variables that lead a program to it, and a line for each request. The flag -faults
// names a file with faults by request number. A Go program calls fakellm.New and fakellm.Script
// instead.
package main
