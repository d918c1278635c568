package main

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// long measures a round late in a long session against an early one. What it costs to send so many
// bytes is measured with net/http alone, and subtracted.
func (b *bench) long() (result, error) {
	s := b.sizes
	rounds := strconv.Itoa(s.late + s.around + 1)
	id := ""
	session, err := b.session("session", func(dir string) []string {
		id = filepath.Base(dir)
		return []string{"round", b.url + "/noop/" + id + "/" + rounds, rounds, strconv.Itoa(s.early),
			strconv.Itoa(s.late), strconv.Itoa(s.around)}
	})
	if err != nil {
		return result{}, err
	}
	post := func(round int) (contestant, error) {
		return b.session(fmt.Sprint("post ", round), func(dir string) []string {
			size := 0
			if err := b.get(fmt.Sprintf("/sizes/%s?round=%d", id, round), &size); err != nil {
				size = -1 // which program session refuses
			}
			return []string{"post", b.url + "/noop/" + filepath.Base(dir) + "/0", strconv.Itoa(size),
				strconv.Itoa(2 * s.around)}
		})
	}
	early, err := post(s.early)
	if err != nil {
		return result{}, err
	}
	late, err := post(s.late)
	if err != nil {
		return result{}, err
	}
	costs, err := b.interleave(max(1, s.runs/4), session, early, late)
	if err != nil {
		return result{}, err
	}
	by, err := figuresByName(costs)
	if err != nil {
		return result{}, err
	}
	less := func(of func(figures) float64, post string) figure {
		all := make([]figures, len(by["session"]))
		for i := range all {
			all[i].CPU = (of(by["session"][i]) - by[post][i].CPU) / 1000
		}
		return figureOf(all, func(f figures) float64 { return f.CPU }, "ms")
	}
	first := less(func(f figures) float64 { return f.Early }, early.name)
	return result{rows: []row{{id: "K4", what: fmt.Sprintf("round %d, less posting the same bytes, CPU", s.late),
		ours: less(func(f figures) float64 { return f.Late }, late.name), against: &first,
		of: fmt.Sprintf("round %d", s.early), goal: 1.1}}}, nil
}
