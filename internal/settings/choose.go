package settings

import (
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/env/sandbox"
)

// Values holds the values of all places and knows which of them count.
type Values struct{ values []Value }

// Choose decides which values count: for each setting, those of the highest place. resumes says
// that the session is an earlier one or a fork.
func Choose(values []Value, resumes bool) *Values {
	s := &Values{splitModelNames(slices.Clone(values))}
	slices.SortStableFunc(s.values, func(a, b Value) int { return int(b.Origin.Place) - int(a.Origin.Place) })
	for i := range s.values {
		v := &s.values[i]
		if higher := s.Get(v.Key); higher != v && !v.Joins() {
			v.Unused = higher.Origin.String() + " counts"
		}
	}
	s.dropOfOtherProviders()
	s.dropOfOtherModels()
	s.dropOfOtherSandboxes()
	s.dropContradicted(resumes)
	return s
}

// Get returns the value of a setting that counts, or the first of several. It returns nil for the
// default.
func (s *Values) Get(key string) *Value {
	if s == nil {
		return nil
	}
	for i := range s.values {
		if v := &s.values[i]; v.Key == key && v.Unused == "" {
			return v
		}
	}
	return nil
}

// Text returns the value of a setting, or its default.
func (s *Values) Text(key string) string {
	if v := s.Get(key); v != nil {
		return v.One()
	}
	set, err := find(key)
	if err != nil {
		return ""
	}
	return set.Default
}

// List returns the items of a list that count, without those of other agents that join others, the
// highest place first.
func (s *Values) List(key string) (list []string) {
	for _, v := range s.Counting(key) {
		if v.Origin.Place != PlaceOther || !v.Joins() {
			list = append(list, v.Text...)
		}
	}
	return list
}

// Counting returns the values of a setting that count, those of the highest place first.
func (s *Values) Counting(key string) []Value {
	return s.those(func(v *Value) bool { return v.Key == key && v.Unused == "" })
}

// All returns the values of a setting, those of the highest place first.
func (s *Values) All(key string) []Value { return s.those(func(v *Value) bool { return v.Key == key }) }

// Of returns the values of a place that count.
func (s *Values) Of(place Place) []Value {
	return s.those(func(v *Value) bool { return v.Origin.Place == place && v.Unused == "" })
}

// those returns some of the values, those of the highest place first.
func (s *Values) those(are func(v *Value) bool) (found []Value) {
	if s == nil {
		return nil
	}
	for i := range s.values {
		if are(&s.values[i]) {
			found = append(found, s.values[i])
		}
	}
	return found
}

// drop says why some of the values that counted do not count any more.
func (s *Values) drop(why string, are func(v *Value) bool) {
	for i := range s.values {
		if v := &s.values[i]; v.Unused == "" && are(v) {
			v.Unused = why
		}
	}
}

// SplitModel replaces the model that counts with another name, and adds a provider at the model's
// place. Some model must count.
func (s *Values) SplitModel(provider, model string) {
	m := s.Get("model")
	m.Text = []string{model}
	s.add(Value{Key: "provider", Text: []string{provider}, Origin: m.Origin})
	s.dropOfOtherProviders()
}

// add inserts a value in the order of places. If it counts, other values of its setting do not.
func (s *Values) add(v Value) {
	i := slices.IndexFunc(s.values, func(o Value) bool { return o.Origin.Place < v.Origin.Place })
	if i < 0 {
		i = len(s.values)
	}
	if v.Unused == "" && !v.Joins() {
		s.drop(v.Origin.String()+" counts", func(o *Value) bool { return o.Key == v.Key })
	}
	s.values = slices.Insert(s.values, i, v)
}

// dropOfOtherProviders drops models, profiles, URLs and windows that stand in a lower place than
// the provider, unless the provider there is the same: they belong to another one, whose requests
// must not go there.
func (s *Values) dropOfOtherProviders() {
	s.dropBelow("provider", func(beside *Value, chosen Value) string {
		if beside == nil || beside.One() != chosen.One() {
			return "no provider or another one stands beside this value"
		}
		return ""
	}, "model", "profile", "base_url", "key_command", "context_window")
}

// dropOfOtherModels drops windows that stand in a lower place than the model, beside another model.
// Without a model beside it, a window is that of every model of the server.
func (s *Values) dropOfOtherModels() {
	s.dropBelow("model", func(beside *Value, chosen Value) string {
		if beside != nil && beside.One() != chosen.One() {
			return "another one stands beside this value"
		}
		return ""
	}, "context_window")
}

// dropOfOtherSandboxes drops what another agent's settings say about the network of a sandbox,
// unless the same file chooses the sandbox that counts: they open the network of that one alone.
func (s *Values) dropOfOtherSandboxes() {
	level := s.Get("sandbox")
	if level == nil {
		return // without a sandbox they have no effect anyway
	}
	s.drop(level.Origin.String()+" chooses the sandbox", func(v *Value) bool {
		return v.Origin.Place == PlaceOther && v.file != level.file && ofNetwork(v.Key)
	})
}

// ofNetwork reports whether a setting opens the network or a socket of a sandbox.
func ofNetwork(key string) bool {
	return slices.Contains([]string{"network", "allow_host", "allow_socket"}, key)
}

// dropBelow drops values of the dependent settings that stand in a lower place than the value that
// counts for a key, if because returns a reason. It passes because the value of the key that stands
// beside the dependent one, which may be nil, and the one that counts.
func (s *Values) dropBelow(key string, because func(beside *Value, chosen Value) string, dependent ...string) {
	chosen := s.Get(key)
	if chosen == nil {
		return
	}
	for i := range s.values {
		v := &s.values[i]
		if v.Unused != "" || v.Origin.Place >= chosen.Origin.Place || !slices.Contains(dependent, v.Key) {
			continue
		}
		var beside *Value
		if at := slices.IndexFunc(s.values, func(o Value) bool {
			return o.Key == key && o.Origin.Place == v.Origin.Place
		}); at >= 0 {
			beside = &s.values[at]
		}
		if why := because(beside, *chosen); why != "" {
			v.Unused = fmt.Sprintf("%s chooses the %s, and %s", chosen.Origin, key, why)
		}
	}
}

// WithoutOtherSandbox drops the sandbox that another agent's settings choose, for this reason, and
// everything that needs one. It returns the sandbox, or nil if none of them has chosen the one that
// counts.
func (s *Values) WithoutOtherSandbox(why string) *Value {
	level := s.Get("sandbox")
	if level == nil || level.Origin.Place != PlaceOther {
		return nil
	}
	s.drop(why, func(v *Value) bool { return v == level || ofNetwork(v.Key) && v.Origin.Place != PlaceFlag })
	return level
}

// dropContradicted drops what files and variables choose where it cannot be used together with what
// counts. A flag is kept: its user is told.
func (s *Values) dropContradicted(resumes bool) {
	drop := func(why string, keys ...string) {
		s.drop(why, func(v *Value) bool { return slices.Contains(keys, v.Key) && v.Origin.Place != PlaceFlag })
	}
	if u := s.Get("unasked"); u != nil && u.Origin.Place == PlaceFlag && u.One() == string(sandbox.Observe) {
		s.WithoutOtherSandbox("a sandbox confines all commands, and " + u.Origin.String() + " lets some run unasked")
	}
	if level := s.Get("sandbox"); level == nil || level.One() == string(sandbox.Off) {
		drop("commands run without a sandbox", "network", "allow_host", "allow_socket")
	} else {
		drop("a sandbox confines all commands", "unasked")
	}
	if resumes {
		drop("an earlier session is continued", "no_journal")
	}
	if kept := s.Get("keep_outputs"); kept != nil && kept.Origin.Place == PlaceFlag {
		drop(kept.Origin.Name+" keeps the session", "no_journal")
	}
	if gone := s.Get("no_journal"); gone != nil && gone.One() == "true" {
		drop("the session is not kept", "keep_outputs")
	}
}
