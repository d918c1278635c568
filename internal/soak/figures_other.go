//go:build !linux

package soak

import "math/rand/v2"

func (f Figures) ofSystem([]string) {}

func descendants() map[int]bool { return nil }

func killOne(*rand.Rand, string, int) bool { return false }

func reap() {}
