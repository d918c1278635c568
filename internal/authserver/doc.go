// Package authserver is an OAuth authorization server on loopback for tests of OAuth clients. It
// approves every request without a page, and it is as strict as the standards allow: codes work
// once, refresh tokens rotate, and the reuse of either ends all tokens of its login.
package authserver
