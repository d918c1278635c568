// Package settings has the settings of sessions: which there are, what files and variables choose,
// and which of several values counts.
//
// They come from flags, variables, the project's file and the user's, the first before the later
// ones. What a project can choose stands in the table of all settings.
package settings
