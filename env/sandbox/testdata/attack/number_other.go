//go:build !amd64

package main

const ioplNumber = 1 << 20 // there is none
