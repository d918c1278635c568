// Package oracle holds tests only. They compare this library's providers with the vendors' own Go SDKs: what a model server sent
// must say the same to both, and what we send must be something that the SDKs' types can hold. It is a module of its own, so that
// nobody who uses the library links those SDKs.
package oracle
