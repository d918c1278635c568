package contain

import (
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// starting plays the files in /proc of a process that was forked by a shell. After some time it
// executes a program, or ends.
type starting struct {
	executes, ends time.Time
}

func (p starting) read(file string) ([]byte, error) {
	forked, line := 0x40, "sh\x00-c\x00sleep 4321 &\x00"
	switch now := time.Now(); {
	case !now.Before(p.ends):
		return nil, syscall.ESRCH
	case !now.Before(p.executes):
		forked, line = 0, "sleep\x004321\x00"
	}
	if file == "stat" {
		line = fmt.Sprintf("7 (sh) R 1 7 7 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 99 0", forked)
	}
	return []byte(line), nil
}

// A process that a command left running is listed with the program that it is about to execute,
// unless that takes very long. One that ends before it can be listed is left out.
func TestI1_NamedAfterItsExec(t *testing.T) {
	const never = time.Hour
	for _, c := range []struct {
		executes, ends time.Duration
		want           string
	}{
		{0, never, "sleep\x004321\x00"},
		{startTime - time.Millisecond, never, "sleep\x004321\x00"},
		{never, never, "sh\x00-c\x00sleep 4321 &\x00"},
		{never, 0, ""},
		{never, startTime - time.Millisecond, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			now := time.Now()
			cmdline, running := startedAs(starting{now.Add(c.executes), now.Add(c.ends)}.read, now.Add(startTime))
			if string(cmdline) != c.want || running != (c.want != "") {
				t.Errorf("executes after %v, ends after %v: %q, %t", c.executes, c.ends, cmdline, running)
			}
		})
	}
}
