// Package providers is the one table that names every provider package, and the way from environment variables to a client.
package providers
