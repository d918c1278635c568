package main

import "golang.org/x/sys/unix"

const ioplNumber = unix.SYS_IOPL
