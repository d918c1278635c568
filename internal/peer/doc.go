// Package peer finds the programs that tests compare with or talk to: git, bash, ripgrep and the like.
package peer
