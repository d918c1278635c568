//go:build !linux

package soak

func (f Figures) ofSystem([]string) {}
