// Package proxy is the way to the network for commands in a sandbox. It is an HTTP proxy on a Unix socket that connects only to the hosts
// that a user has named. It reads no encrypted data and adds nothing to a request.
package proxy
