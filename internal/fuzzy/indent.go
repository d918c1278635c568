package fuzzy

import "strings"

// Indent holds a rule that turns the indentation of one text into that of another.
type Indent struct {
	add, remove string // at the beginning of every line
	// If from is set, the indentation is counted in units of from and written in units of to, with
	// deeper units added. A remainder of less than one unit is kept.
	from, to string
	deeper   int
}

// indentUnits returns the units that a rule may turn into each other.
func indentUnits() []string { return []string{"\t", "  ", "   ", "    ", "        "} }

// FindIndent returns the rule that gives every old line that is not blank the indentation of its
// line in the file, or false if there is none. It prefers the simplest rule: the same white space
// added or removed on every line, then another unit.
func FindIndent(old, file []string) (Indent, bool) {
	var pairs [][2]string // old and file
	depths := map[string]bool{}
	for i := range old {
		if strings.TrimSpace(old[i]) != "" {
			p := [2]string{indentOf(old[i]), indentOf(file[i])}
			pairs = append(pairs, p)
			depths[p[0]] = true
		}
	}
	if len(pairs) == 0 {
		return Indent{}, false
	}
	first := pairs[0]
	if add, ok := strings.CutSuffix(first[1], first[0]); ok {
		if r := (Indent{add: add}); r.fits(pairs) {
			return r, true
		}
	}
	if remove, ok := strings.CutSuffix(first[0], first[1]); ok {
		if r := (Indent{remove: remove}); r.fits(pairs) {
			return r, true
		}
	}
	for _, from := range indentUnits() {
		for _, to := range indentUnits() {
			n, wholeOld := unitsIn(first[0], from)
			m, wholeFile := unitsIn(first[1], to)
			r := Indent{from: from, to: to, deeper: m - n}
			// A single depth does not distinguish a wider unit from more units.
			if from != to && wholeOld && wholeFile && (m == n || len(depths) > 1) && r.fits(pairs) {
				return r, true
			}
		}
	}
	return Indent{}, false
}

// fits reports whether the rule turns the first indentation of every pair into the second.
func (r Indent) fits(pairs [][2]string) bool {
	for _, p := range pairs {
		if got, ok := r.indent(p[0]); !ok || got != p[1] {
			return false
		}
	}
	return true
}

// indent returns the new indentation of a line, or false if the rule does not apply to it.
func (r Indent) indent(indent string) (string, bool) {
	if r.from == "" {
		rest, ok := strings.CutPrefix(indent, r.remove)
		return r.add + rest, ok
	}
	n := 0
	for strings.HasPrefix(indent, r.from) {
		indent = indent[len(r.from):]
		n++
	}
	if n += r.deeper; n < 0 || strings.Contains(indent, "\t") {
		return "", false
	}
	return strings.Repeat(r.to, n) + indent, true
}

// Apply returns the lines with their new indentation, or false if the rule does not apply to one of
// them. Blank lines stay unchanged.
func (r Indent) Apply(lines []string) ([]string, bool) {
	fresh := make([]string, len(lines))
	for i, l := range lines {
		fresh[i] = l
		if strings.TrimSpace(l) == "" {
			continue
		}
		old := indentOf(l)
		indent, ok := r.indent(old)
		if !ok {
			return nil, false
		}
		fresh[i] = indent + l[len(old):]
	}
	return fresh, true
}

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// unitsIn returns the number of units in an indentation, and whether it consists of them alone.
func unitsIn(indent, unit string) (int, bool) {
	n := len(indent) / len(unit)
	return n, indent == strings.Repeat(unit, n)
}
