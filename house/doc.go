// Package house has the tests of what holds for the whole repository: which package may import
// which, that all compiles on other systems, and that the pages in docs are true of the code.
package house
