package rules

import (
	"cmp"
	"slices"

	"github.com/attractor-go/attractor/env"
)

// question is what a part of a call asks.
type question struct {
	finding
	edit  bool // it is about a change of an ordinary file in the session's directories
	grave gravity
}

// finding says why something asks, and which rules would allow it. Without a reason it does not
// ask.
type finding struct {
	why     string
	suggest []string
	rule    *rule // that denies or asks about a file in a tree
}

// gravity orders questions, the gravest first.
type gravity uint8

const (
	aboutRule    gravity = iota // a rule denies or asks about a file
	aboutTouched                // a file with secrets, or one that starts something
	aboutUnknown                // it is not known what runs
	aboutCommand                // a command that does more than read, a host, a tool
	aboutChange                 // a file changes
	aboutPlace                  // a file is elsewhere
)

// ask returns the questions about all parts of the call, the gravest first and otherwise in their
// order, and a rule that allows a part.
func (c *call) ask() (asks []question, allowed *rule) {
	for i := range c.parts {
		by, more := c.part(&c.parts[i])
		if len(more) == 0 && by != nil {
			allowed = by
		}
		asks = append(asks, more...)
	}
	slices.SortStableFunc(asks, func(a, b question) int { return cmp.Compare(a.grave, b.grave) })
	return asks, allowed
}

// maxReasons limits the reasons, and the files that a decision names.
const maxReasons = 100

// reasons returns everything because of which the call asks, with the first in front.
func (c *call) reasons(first string) []string {
	list, seen := []string{first}, map[string]bool{first: true}
	asks, _ := c.questions()
	for _, q := range asks {
		if !seen[q.why] && len(list) < maxReasons {
			list = append(list, q.why)
		}
		seen[q.why] = true
	}
	return list
}

// Touched is a file that a call uses and that usually holds secrets, or that starts or protects
// something.
type Touched struct {
	Path, Why string
	Changes   bool // the call changes it, as far as that is known
}

// touches returns such files of the call.
func (c *call) touches() (list []Touched) {
	for _, p := range c.parts {
		for _, f := range p.files {
			d, is := c.delicate(f)
			if !is && f.writes && !f.known {
				d.why = env.Guarded(c.ctx, c.env, f.place.named)
			}
			t := Touched{f.place.named, d.why, f.writes}
			if d.why != "" && len(list) < maxReasons && !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	return list
}

// question returns the question about a part that no rule allows.
func (p *part) question() question {
	if p.cmd == nil {
		return question{finding: finding{why: p.asks, suggest: p.suggest}, grave: p.gravity()}
	}
	q := question{finding: finding{why: shortened(p.cmd.Text) + ": " + p.asks}, grave: p.gravity()}
	if !p.exact {
		q.suggest = suggestCommand(p.cmd)
	}
	return q
}

// gravity returns that of the question about the part itself.
func (p *part) gravity() gravity {
	if p.exact {
		return aboutUnknown
	}
	return aboutCommand
}
