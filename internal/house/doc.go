// Package house has only tests, of what holds for the whole module: which package may import which, that
// all compiles on other systems, and that the pages in docs are true of the code.
package house
