// Package fakellm provides a scripted model behind HTTP: an [http.Handler] that speaks a vendor's API as the vendor does, with
// streaming, strict checks of requests, prompt caching, and faults by request number. The demo and the tests talk to it through
// the real providers.
package fakellm
