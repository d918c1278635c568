// Package proxy is the way to the network for commands in a sandbox. It is an HTTP proxy on a Unix
// socket that connects only to the hosts that a user has named. It reads no encrypted data and adds
// nothing to a request.
//
// It runs in the host process and is reached through the helper attractor-env in the sandbox. It
// compares the host of a CONNECT with the list and with the name in TLS, and the address of each
// connection with package netguard.
package proxy
