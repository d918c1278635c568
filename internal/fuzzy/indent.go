package fuzzy

import "strings"

// Indent turns the indentation of one text into that of another.
type Indent struct {
	add, remove string // in front of every line
	// With from set, the indentation is counted in this unit, and written in the unit to, deeper by so many units. What is left
	// of a line's, less than one unit, stays behind it.
	from, to string
	deeper   int
}

// indentUnits returns the units that a rule may turn into each other.
func indentUnits() []string { return []string{"\t", "  ", "   ", "    ", "        "} }

// FindIndent returns the one rule that turns the indentation of the old lines into that of the file's on every line that is not
// blank, and false if there is none. The simplest wins: the same white space more or less on every line, then another unit.
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
			// One depth alone does not tell a wider unit from more of them.
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

// indent turns one line's indentation into another, if the rule can.
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

// Apply returns the lines with the other indentation, and false if the rule cannot indent one of them. A blank line stays as it is.
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

// unitsIn counts the units in an indentation, and reports whether it consists of them alone.
func unitsIn(indent, unit string) (int, bool) {
	n := len(indent) / len(unit)
	return n, indent == strings.Repeat(unit, n)
}
