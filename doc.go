// Package attractor is the root of a library that runs coding agents. It has no code: start at package agent, and read README.md
// and DESIGN.md.
package attractor
