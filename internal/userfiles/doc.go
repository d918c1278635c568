// Package userfiles knows the directories in which programs keep files of their user, as variables
// of the environment name them, and reads such files.
package userfiles
