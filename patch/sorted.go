package patch

import "slices"

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
