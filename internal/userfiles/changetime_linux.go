package userfiles

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// ChangeTime returns when a file or its attributes changed, which no program can choose.
func ChangeTime(name string) (time.Time, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return time.Time{}, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, errors.ErrUnsupported
	}
	return time.Unix(stat.Ctim.Unix()), nil
}
