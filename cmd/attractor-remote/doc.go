// Command attractor-remote serves the files and commands of its machine to an attractor on another
// one. Attractor finds it there or brings it along, and runs it; people need not. It imports
// little, so that it is small and can be linked statically.
//
//	attractor-remote serve              speak the protocol on standard input and output
//	attractor-remote serve --protocol   print the versions of the protocol
//
// docs/env-protocol.md describes the protocol.
package main
