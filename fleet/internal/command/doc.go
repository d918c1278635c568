// Package command is the command attractor-fleet.
package command
