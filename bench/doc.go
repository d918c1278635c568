// Command bench measures Attractor beside a bare loop, other libraries, the vendors' SDKs and
// agents, and other tools, and prints Markdown.
//
//	go run .                       everything; half an hour
//	go run . -quick                every row once, to see that it works
//	go run . -only K3,K10          some rows; agents are sessions beside other programs
//	go run . -readme ../README.md  also rewrites the tables in a file
//
// The rows of the requirements come from the benchmarks of the packages. Agents are processes that
// talk to a scripted model. They run in turns, A B C A B C, so that other work of the machine slows
// all of them down alike.
package main
