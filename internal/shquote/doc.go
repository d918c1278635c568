// Package shquote writes words for POSIX shells.
package shquote
