package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

// OfProject is the file of a project's settings, below its root.
const OfProject = ".attractor/config.json"

// ProjectFile is a project's file of settings.
type ProjectFile struct {
	Name string
	Data []byte // nil if there is none
	// Unused says why nothing of it counts, such as that nobody trusts the project. It is empty if
	// the file counts.
	Unused string
}

// UseProject adds the settings of a project to those of the user. What a project cannot choose has
// no effect, and neither has anything of a file that does not count. The problems say what the user
// should know.
func (s *Values) UseProject(f ProjectFile) (problems []error) {
	if f.Data == nil {
		return nil
	}
	values, mistakes := parse(f.Name, f.Data, PlaceProject, "")
	if f.Unused == "" {
		problems = mistakes
	}
	for _, v := range values {
		set, err := find(v.Key)
		if err != nil {
			continue // cannot happen
		}
		above := s.Get(v.Key)
		switch {
		case set.Project != RightAny && set.Project != RightStricter:
			v.Unused = "a project cannot set it: " + set.Why
			problems = append(problems, fmt.Errorf("%s: %s has no effect. A project cannot set it: %s", v.Origin, v.Key,
				set.Why))
		case f.Unused != "":
			v.Unused = f.Unused
		case above != nil && above.Origin.Place > PlaceProject:
			v.Unused = above.Origin.String() + " counts"
		case set.Project == RightStricter:
			if v.Unused = s.looser(v.Key, v.One()); v.Unused != "" {
				problems = append(problems, fmt.Errorf("%s: %s has no effect. A project can only make it stricter: %s",
					v.Origin, v.Key, v.Unused))
			}
		}
		s.add(v)
	}
	return problems
}

// Without returns the keys of the project's settings that do not count for this reason.
func (s *Values) Without(why string) (keys []string) {
	for _, v := range s.values {
		if v.Origin.Place == PlaceProject && v.Unused == why {
			keys = append(keys, v.Key)
		}
	}
	return keys
}

// looser returns why a project's value permits more than the user's, or "" if it does not. Without
// a value of the user the default counts.
func (s *Values) looser(key, text string) string {
	was, origin := s.Text(key), "the default is"
	if users := s.Get(key); users != nil {
		var texts []string
		for _, v := range slices.Backward(s.Counting(key)) { // later ones take precedence
			texts = append(texts, v.Text...)
		}
		was, origin = strings.Join(texts, ","), users.Origin.String()+" has"
	}
	ok := true
	switch key {
	case "web", "web_search":
		ok = text == "false" || was == "true"
	case "strict_hooks":
		ok = text == "true" || was == "false"
	case "sandbox":
		ok = strictness(text) >= strictness(was)
	case "limit":
		return looserLimits(text, was)
	default: // a number, of which 0 means no limit
		ok = !numberLooser(text, was)
	}
	if ok {
		return ""
	}
	return origin + " " + was
}

// strictness orders the levels of sandboxes.
func strictness(level string) int {
	return slices.Index([]string{string(sandbox.Off), string(sandbox.WorkspaceWeak), string(sandbox.Workspace),
		string(sandbox.ReadOnly)}, level)
}

// numberLooser reports whether a number permits more than another one. 0 means no limit.
func numberLooser(text, was string) bool {
	now, err := strconv.ParseFloat(text, 64)
	before, wrong := strconv.ParseFloat(was, 64)
	return err != nil || wrong != nil || before > 0 && (now == 0 || now > before)
}

// looserLimits returns which of the limits of commands permits more than the user's, or "".
func looserLimits(text, was string) string {
	var now, before env.Limits
	if err := ParseLimits(&now, text); err != nil {
		return err.Error()
	}
	if was != "" {
		if err := ParseLimits(&before, was); err != nil {
			return err.Error()
		}
	}
	before.Processes = cmp.Or(before.Processes, env.DefaultProcesses)
	users := limitsOf(&before)
	for i, l := range limitsOf(&now) {
		if was := *users[i].value; *l.value != 0 && was > 0 && (*l.value < 0 || *l.value > was) {
			return fmt.Sprintf("the limit of %s is %d without it", l.name, was)
		}
	}
	return ""
}

// Clone returns a copy of the values. A nil s has none.
func (s *Values) Clone() *Values {
	if s == nil {
		return new(Values)
	}
	return &Values{slices.Clone(s.values)}
}

// LimitActionNames returns the values of on_limit.
func LimitActionNames() []string { return slices.Sorted(maps.Keys(LimitActions())) }

// LimitActions returns what the values of on_limit mean.
func LimitActions() map[string]agent.OnLimit {
	return map[string]agent.OnLimit{"stop": agent.EndOnLimit, "summarize": agent.SummarizeOnLimit}
}
