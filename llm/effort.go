package llm

import "slices"

// efforts lists all names of efforts in use, the lowest first.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// FitEffort returns the model's effort that is nearest to asked, the lower of two, and reports
// whether it is asked itself. If the model's efforts are not known, it returns asked.
func (m *Model) FitEffort(asked string) (sent string, same bool) {
	if asked == "" || m == nil || len(m.Efforts) == 0 || slices.Contains(m.Efforts, asked) {
		return asked, true
	}
	want := slices.Index(efforts, asked)
	if want < 0 { // an unknown name: the provider decides
		return asked, true
	}
	best, distance := "", len(efforts)+1
	for _, e := range m.Efforts {
		if at := slices.Index(efforts, e); at >= 0 && abs(at-want) < distance {
			best, distance = e, abs(at-want)
		}
	}
	if best == "" {
		return asked, true
	}
	return best, false
}

func abs(n int) int { return max(n, -n) }

// KnownEfforts returns the efforts of the model, or all names in use if they are not known, the
// lowest first.
func (m *Model) KnownEfforts() []string {
	if m == nil || len(m.Efforts) == 0 {
		return efforts
	}
	return m.Efforts
}
