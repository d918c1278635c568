// Package oracle holds only tests. They compare this library's providers with the vendors' own Go
// SDKs: both must read a server's answer the same way, and our requests must fit the SDKs' types.
// It is a module of its own, so that users of the library do not link those SDKs.
package oracle
