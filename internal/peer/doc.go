// Package peer finds the programs that tests run or compare with, such as git, bash and ripgrep,
// and writes those that tests bring.
package peer
