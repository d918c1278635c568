package rules

import "github.com/attractor-go/attractor/tool"

// Listed describes a rule of a [Set].
type Listed struct {
	Rule    string // as it was written
	Verdict tool.Verdict
	Where   string // FILE:LINE, the flag, or "allowed in this session"
	Reason  string // that the rule gives, or ""
}

// List returns the rules: those that deny, those that ask and those that allow, each in the order
// of their sources.
func (s *Set) List() (list []Listed) {
	for _, v := range []tool.Verdict{tool.Deny, tool.Ask, tool.Allow} {
		for _, r := range s.of(v) {
			list = append(list, Listed{Rule: r.text, Verdict: v, Where: r.where, Reason: r.reason})
		}
	}
	return list
}
