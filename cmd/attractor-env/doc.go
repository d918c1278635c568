// Command attractor-env is the helper of attractor inside a sandbox. Attractor runs it there;
// people need not. It imports little, so that it starts fast and can be linked statically.
//
//	attractor-env proxy --socket PATH -- command [argument...]
//	attractor-env landlock --read PATH... --write PATH... --filter DESCRIPTOR -- command [argument...]
//	attractor-env scope -- command [argument...]
//
// Proxy runs a command whose only way to the network is an HTTP proxy on a Unix socket. Landlock
// becomes a command that can use only some files and system calls. Scope becomes a command that
// cannot connect to abstract Unix sockets of others.
package main
