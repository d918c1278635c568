package patch

import (
	"slices"
	"strings"
)

// patience limits the lines that a view looks at one by one, as a multiple of the file's lines,
// before it sorts them.
const patience = 2

// view finds lines in a file by one way to compare them. It looks at the lines one by one, because
// most hunks are close to the one before and most patches are short. When it has looked at many
// lines, it sorts them once, and from then on looks only at equal ones.
type view struct {
	like   func(string) string // two lines are equal if like returns the same text for both
	looked int                 // how many lines were looked at
	sorted *sortedLines        // nil if the lines are not sorted
}

// views returns the ways in which a line of a patch may equal one of a file, the strictest first.
func views() []*view {
	return []*view{
		{like: func(s string) string { return s }},
		{like: func(s string) string { return strings.TrimRight(s, " \t\r") }},
		{like: strings.TrimSpace},
		{like: loose},
	}
}

// find returns the first index from which the lines equal the wanted ones, at or after from. If
// fits is not nil, it must accept the index.
func (v *view) find(lines []docLine, want []string, from int, fits func(at int) bool) (int, bool) {
	wanted := make([]string, len(want))
	for i, w := range want {
		wanted[i] = v.like(w)
	}
	if v.sorted == nil && v.looked > patience*len(lines) {
		v.sorted = sortLines(lines, v.like)
	}
	if v.sorted != nil && len(wanted) > 0 {
		return v.sorted.find(wanted, from, fits)
	}
	for at := from; at+len(wanted) <= len(lines); at++ {
		v.looked++
		if v.equal(lines[at:], wanted) && (fits == nil || fits(at)) {
			return at, true
		}
	}
	return 0, false
}

func (v *view) equal(lines []docLine, wanted []string) bool {
	for i, w := range wanted {
		if v.like(lines[i].text) != w {
			return false
		}
	}
	return true
}

// sortedLines holds the lines of a file so that equal ones are found at once. Equal lines have the
// same number.
type sortedLines struct {
	numbers map[string]int // by text
	lines   []int          // the number of each line
	places  [][]int        // by number: the indices of its lines, ascending
}

// sortLines returns lines so that those for which like returns the same text have the same number.
func sortLines(lines []docLine, like func(string) string) *sortedLines {
	s := &sortedLines{numbers: make(map[string]int, len(lines)), lines: make([]int, len(lines))}
	var counts []int
	for i, l := range lines {
		text := like(l.text)
		number, known := s.numbers[text]
		if !known {
			number = len(counts)
			s.numbers[text], counts = number, append(counts, 0)
		}
		s.lines[i] = number
		counts[number]++
	}
	places := make([]int, len(lines)) // of all numbers, in one piece
	s.places = make([][]int, len(counts))
	for number, n := range counts {
		s.places[number], places = places[:0:n], places[n:]
	}
	for i, number := range s.lines {
		s.places[number] = append(s.places[number], i)
	}
	return s
}

// find does what [view.find] does. It looks only at the places of the rarest wanted line.
func (s *sortedLines) find(wanted []string, from int, fits func(at int) bool) (int, bool) {
	numbers := make([]int, len(wanted))
	var places []int
	rarest := -1
	for i, text := range wanted {
		number, known := s.numbers[text]
		if !known {
			return 0, false
		}
		numbers[i] = number
		below := s.places[number]
		first, _ := slices.BinarySearch(below, from+i)
		if below = below[first:]; rarest < 0 || len(below) < len(places) {
			places, rarest = below, i
		}
	}
	for _, place := range places {
		at := place - rarest
		if at+len(numbers) > len(s.lines) {
			break
		}
		if slices.Equal(s.lines[at:at+len(numbers)], numbers) && (fits == nil || fits(at)) {
			return at, true
		}
	}
	return 0, false
}
