// Package command implements the command attractor-fleet.
package command
