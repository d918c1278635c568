// Command attractor runs coding agents from a terminal or a script. Package internal/cli has its
// body.
package main
