// Package sse reads server-sent events as the WHATWG HTML standard defines them (section 9.2.6).
package sse
