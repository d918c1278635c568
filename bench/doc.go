// Command bench measures Attractor beside a bare loop, other libraries, the vendors' SDKs and
// agents, and other tools, and prints Markdown.
//
//	go run .                       everything; half an hour
//	go run . -quick                every row at small sizes, to see that it works
//	go run . -only K3,K10          some rows
//	go run . -readme ../README.md  also rewrites the tables in a file
//
// Contestants are processes, and run in turns: A B C A B C. So whatever else the machine does meets
// all of them. They talk to one scripted server, which is a process of its own.
package main
