package main

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// idle measures sessions at rest, with journals on disk, in a process that may have 1,024
// descriptors. If that is not enough for all, memory and descriptors are those of as many as fit.
func (b *bench) idle() (result, error) {
	run := func(n int) (figures, error) {
		c, err := b.session("idle", func(dir string) []string {
			return []string{"idle", b.url + "/noop/" + filepath.Base(dir) + "/0", dir, strconv.Itoa(n)}
		})
		if err != nil {
			return figures{}, err
		}
		one, err := b.once(c)
		if err != nil {
			return figures{}, err
		}
		f, err := figuresOf(samples{one})
		if err != nil {
			return figures{}, err
		}
		return f[0], nil
	}
	many, err := run(b.sizes.idle)
	if err != nil {
		return result{}, err
	}
	at := many
	if many.Sessions < float64(b.sizes.idle) {
		if at, err = run(min(400, b.sizes.idle)); err != nil {
			return result{}, err
		}
	}
	return result{rows: []row{
			{id: "K9", what: fmt.Sprintf("sessions at rest in one process with 1,024 descriptors, of %d", b.sizes.idle),
				ours: exact(many.Sessions, ""), goal: float64(b.sizes.idle), atLeast: true},
			{id: "K9", what: "memory of a session at rest", ours: exact(at.Memory/1000, "kB"), goal: 6},
			{id: "K9", what: "descriptors of a session at rest", ours: exact(at.Descriptors/at.Sessions, ""),
				goal: 0.1}}},
		nil
}
