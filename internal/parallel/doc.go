// Package parallel lets more parallel tests of a package run at once than there are processors. It
// is for packages whose tests mostly wait for processes and timers.
package parallel
