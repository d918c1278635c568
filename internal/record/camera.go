package main

import (
	"slices"
	"strings"
	"time"
)

// frame is what a terminal showed from a time on.
type frame struct {
	at     time.Duration
	lines  []string // with SGR sequences
	cursor bool     // whether there is one
	x, y   int      // where it is
}

func (f frame) same(g frame) bool {
	return f.cursor == g.cursor && (!f.cursor || f.x == g.x && f.y == g.y) && slices.Equal(f.lines, g.lines)
}

// film is a recording.
type film struct {
	frames     []frame
	length     time.Duration
	transcript string // what the terminal showed in the end, with what had scrolled by
}

// interval is the time between two looks at the terminal.
const interval = 80 * time.Millisecond

// camera looks at a terminal until it is stopped.
type camera struct {
	done chan struct{}
	film chan *film
	err  error
}

func newCamera(t *terminal) *camera {
	c := &camera{done: make(chan struct{}), film: make(chan *film, 1)}
	go c.run(t)
	return c
}

func (c *camera) run(t *terminal) {
	f := &film{}
	defer func() { c.film <- f }()
	start := time.Now()
	for ended := false; !ended; {
		select {
		case <-c.done:
			ended = true // after the last frame
		case <-time.After(interval):
		}
		var next frame
		if next, c.err = t.frame(); c.err != nil {
			return
		}
		next.at = time.Since(start)
		f.length = next.at
		if n := len(f.frames); n == 0 || !f.frames[n-1].same(next) {
			f.frames = append(f.frames, next)
		}
	}
	f.frames[0].at = 0
}

// stop returns the film.
func (c *camera) stop() (*film, error) {
	close(c.done)
	f := <-c.film
	return f, c.err
}

// piece is a part of a line in one style.
type piece struct {
	column int
	text   string
	style  style
}

// style says how text looks.
type style struct {
	colour                           string // the code of one of eight, or empty
	bold, dim, italic, under, strike bool
}

// pieces splits a line with SGR sequences. Only what package internal/render uses is known; other
// sequences change nothing.
func pieces(line string) []piece {
	var all []piece
	var now style
	column := 0
	for line != "" {
		if rest, is := strings.CutPrefix(line, "\x1b["); is {
			codes, after, _ := strings.Cut(rest, "m")
			now, line = now.with(strings.Split(codes, ";")), after
			continue
		}
		text, _, _ := strings.Cut(line, "\x1b[")
		line = line[len(text):]
		for _, word := range separate(text) {
			if trimmed := strings.TrimLeft(word, " "); trimmed != "" {
				spaces := len(word) - len(trimmed)
				all = append(all, piece{column + spaces, strings.TrimRight(trimmed, " "), now})
			}
			column += len([]rune(word))
		}
	}
	return all
}

// separate splits a text so that each character that is not ASCII stands alone: another font may
// have to draw it, with another width.
func separate(text string) []string {
	var all []string
	begin := 0
	for i, r := range text {
		if r > '~' {
			if i > begin {
				all = append(all, text[begin:i])
			}
			begin = i + len(string(r))
			all = append(all, text[i:begin])
		}
	}
	return append(all, text[begin:])
}

func (s style) with(codes []string) style {
	for _, code := range codes {
		switch code {
		case "", "0":
			s = style{}
		case "1":
			s.bold = true
		case "2":
			s.dim = true
		case "3":
			s.italic = true
		case "4":
			s.under = true
		case "9":
			s.strike = true
		case "22":
			s.bold, s.dim = false, false
		case "39":
			s.colour = ""
		case "31", "32", "33", "34", "35", "36", "37":
			s.colour = code
		}
	}
	return s
}
