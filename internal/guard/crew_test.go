package guard

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// goroutine returns the name of the calling goroutine.
func goroutine() string {
	buf := make([]byte, 64)
	name, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), " [")
	return name
}

// TestK3_Crew checks that an open crew reuses goroutines, that a closed one and none do not, and that functions that do not return leave
// the crew usable. A goroutine that is left fails the test.
func TestK3_Crew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(Crew)
		run := func(crew *Crew) string {
			t.Helper()
			r := <-StartOn(crew, "it", func() (string, error) { return goroutine(), nil })
			if r.Err != nil {
				t.Error(r.Err)
			}
			synctest.Wait() // the goroutine waits for the next function
			return r.Value
		}
		for name, crew := range map[string]*Crew{"none": nil, "closed": c} {
			if first := run(crew); first == run(crew) {
				t.Errorf("%s: a goroutine was used twice", name)
			}
		}
		c.Open()
		first := run(c)
		for range 100 {
			if got := run(c); got != first {
				t.Fatalf("%s runs in place of %s", got, first)
			}
		}
		for name, broken := range map[string]func() (int, error){"panic": func() (int, error) { panic("boom") }, "Goexit": func() (int, error) { runtime.Goexit(); return 0, nil }} {
			var p *Panic
			if r := <-StartOn(c, "it", broken); !errors.As(r.Err, &p) {
				t.Errorf("%s: %v", name, r.Err)
			}
			synctest.Wait()
			if next := run(c); next != run(c) {
				t.Errorf("after a %s nothing is kept", name)
			}
		}
		c.Close()
		if last := run(c); last == run(c) {
			t.Error("a goroutine was used twice after Close")
		}
	})
}

// TestK3_CrewOfMany runs many functions at once, some of which start others and wait for them, while the crew is closed and opened.
func TestK3_CrewOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(Crew)
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				if i%10 == 0 {
					c.Open()
					defer c.Close()
				}
				outer := <-StartOn(c, "outer", func() (int, error) {
					inner := <-StartOn(c, "inner", func() (int, error) { return i, nil })
					return inner.Value + 1, inner.Err
				})
				if outer.Value != i+1 || outer.Err != nil {
					t.Errorf("%d: %d, %v", i, outer.Value, outer.Err)
				}
			})
		}
		all.Wait()
		c.Open()
		hold := make(chan struct{})
		for range 3 * mostIdle {
			c.Go(func() { <-hold })
		}
		close(hold)
		synctest.Wait()
		if n := len(c.idle); n != mostIdle {
			t.Errorf("%d goroutines are kept", n)
		}
		c.Close()
	})
}
