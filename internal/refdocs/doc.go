// Package refdocs writes the pages in docs/reference about commands, for the tests of internal/cli
// and of fleet/internal/command, which keep them equal to the code. Its own tests read the code of
// the repository and write all other pages.
package refdocs
