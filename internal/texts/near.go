package texts

import (
	"cmp"
	"slices"
	"strings"
)

// maxNear limits the names that Near returns.
const maxNear = 3

// Near returns the candidates that resemble a name most, the nearest first. They differ in case,
// hyphens and underscores, or in a few letters.
func Near(name string, candidates []string) []string {
	type near struct {
		name     string
		distance int
	}
	var found []near
	want := []rune(Folded(name))
	for _, candidate := range candidates {
		if d := Distance(want, []rune(Folded(candidate))); d <= len(want)/4 {
			found = append(found, near{candidate, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	var list []string
	for _, n := range found[:min(len(found), maxNear)] {
		list = append(list, n.name)
	}
	return list
}

// Folded returns a name in lower case, without hyphens and underscores.
func Folded(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// Distance returns the Levenshtein distance of a and b.
func Distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			change := diagonal
			if x != y {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
