//go:build unix && !linux

package main

import "syscall"

func endWithParent() *syscall.SysProcAttr { return nil }
