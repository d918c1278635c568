// Package providers lists all providers of this library and creates a client of those that the environment configures.
package providers
