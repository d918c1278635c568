// Package regex compiles regular expressions of models and files in bounded memory: by itself
// package regexp gives 23 kB of text 130 MB.
package regex
