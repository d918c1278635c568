// Package profiles finds profiles by their names.
package profiles
