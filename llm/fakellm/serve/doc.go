// Command serve runs the scripted model of package fakellm, in all its formats:
//
//	go run ./llm/fakellm/serve -addr 127.0.0.1:8080 -script turns.json
//
// The script is a JSON array of turns, such as [{"text":"Hi.","calls":[{"name":"shell","args":{"command":"ls"}}]},{"text":"Done."}].
package main
