// Package filelock locks open files and directories, so that processes exclude each other. A lock
// ends with its process.
package filelock
