// Package settings defines the settings of sessions, reads those in files and variables, and
// decides which of several values counts.
//
// Flags take precedence over variables, these over the project's file, and that over the user's.
// The table of all settings says what a project can choose.
package settings
