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

// executing plays the files in /proc of a process that executes programs one after the other. In
// between the kernel shows neither environment nor command line.
type executing struct {
	programs []string // the command lines; "" while the next one is not there yet
	environ  string   // of each program
	reads    int
}

func (p *executing) read(file string) ([]byte, error) {
	now := p.programs[min(p.reads/2, len(p.programs)-1)]
	switch file {
	case "stat":
		return []byte("7 (sh) R 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 0"), nil
	case "environ":
		p.reads++
		if now == "" {
			return nil, nil
		}
		return []byte(p.environ), nil
	}
	p.reads++
	return []byte(now), nil
}

// A process that is executing a program belongs to the tree if its next program has the mark. One
// without an environment does not, and is not waited for.
func TestD4_MarkedWhileItExecutes(t *testing.T) {
	const mark = MarkVar + "=ID"
	for name, c := range map[string]struct {
		p    executing
		want string
		wait time.Duration
	}{
		"running": {executing{programs: []string{"sleep"}, environ: mark}, mark, 0},
		"starting": {executing{programs: []string{"", "", "sleep"}, environ: mark}, mark,
			2 * time.Millisecond},
		"between two reads": {executing{programs: []string{"", "setsid", "", "sleep"}, environ: mark}, mark,
			time.Millisecond},
		"no environment":        {executing{programs: []string{"sleep"}}, "", 0},
		"starting without one":  {executing{programs: []string{"", "sleep"}}, "", time.Millisecond},
		"never another program": {executing{programs: []string{""}, environ: mark}, "", startTime + time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			got, err := environment(c.p.read, began.Add(startTime))
			if string(got) != c.want || err != nil || time.Since(began) != c.wait {
				t.Errorf("%s: %q, %v after %v", name, got, err, time.Since(began))
			}
		})
	}
}
