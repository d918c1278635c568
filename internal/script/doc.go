// Package script reads the syntax of shell scripts, and puts values in the place of their
// parameters.
package script
