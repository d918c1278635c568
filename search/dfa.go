package search

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

const (
	// maxStates limits a dfa's memory, at half a kilobyte per state. Expressions that need more are
	// left to regexp.
	maxStates = 1000
	// maxProgram limits the instructions of an expression, and so the steps to make one state.
	maxProgram = 1000
)

// Targets of a dfa's transitions, besides states.
const (
	unknown = iota // not yet computed
	hit            // the line may match
	firstState
)

// dfa finds lines that may match an expression in one pass over the text, with one table lookup per
// byte. Regexp takes a dozen times as long. States are made when they are first reached.
//
// A dfa may report lines that do not match, but misses none. It takes each byte outside of ASCII
// for part of any such character, assumes word boundaries everywhere, and lets a carriage return
// end a line. It must not be used by several goroutines.
type dfa struct {
	prog  *syntax.Prog
	loose bool // hits need confirmation by regexp

	states []dfaState
	byKey  map[string]uint16
	next   []uint16 // 256 for each state
	start  uint16   // at the start of a line
	idle   uint16   // no match has begun
	stay   [256]bool
	full   bool // there were too many states

	// The state that is being made:
	seen []int // by instruction, the number of the last state that has it
	made int
	set  []uint32
	key  []byte
}

// dfaState holds the instructions to try at the next byte.
type dfaState struct {
	set     []uint32
	matches bool // without another byte
	ends    bool // it matches if the line ends here
}

// newDFA returns the dfa of a program. It is full from the start if the program is too large.
func newDFA(prog *syntax.Prog, loose bool) *dfa {
	if len(prog.Inst) > maxProgram {
		return &dfa{full: true}
	}
	d := &dfa{prog: prog, loose: loose, byKey: map[string]uint16{}, seen: make([]int, len(prog.Inst))}
	d.states, d.next = make([]dfaState, firstState), make([]uint16, firstState<<8)
	for _, inst := range prog.Inst {
		boundary := syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
		d.loose = d.loose || inst.Op == syntax.InstEmptyWidth && syntax.EmptyOp(inst.Arg)&boundary != 0
	}
	d.start = d.state(nil, true)
	d.idle = d.state(nil, false)
	for b := range d.stay {
		d.stay[b] = d.step(d.idle, byte(b)) == d.idle
	}
	return d
}

// find returns an offset in the first line at or after pos that may match, or -1. Pos is the start
// of a line. It returns false if the dfa has become full, so that nothing is known.
func (d *dfa) find(text []byte, pos int) (at int, ok bool) {
	if d.states[d.start].matches && pos < len(text) {
		return pos, true
	}
	table, state := d.next, d.start
	for i := pos; i < len(text); i++ {
		if state == d.idle {
			for i < len(text) && d.stay[text[i]] {
				i++
			}
			if i == len(text) {
				break
			}
		}
		next := table[int(state)<<8|int(text[i])]
		if next < firstState {
			if next == unknown {
				next = d.step(state, text[i])
				table = d.next
			}
			if next == hit {
				return i, true
			}
			if d.full {
				return 0, false
			}
		}
		state = next
	}
	if len(text) > pos && text[len(text)-1] != '\n' && d.states[state].ends {
		return len(text) - 1, true
	}
	return -1, true
}

// step returns the target of a transition, which it makes if necessary.
func (d *dfa) step(from uint16, b byte) (to uint16) {
	at := int(from)<<8 | int(b)
	if d.next[at] != unknown {
		return d.next[at]
	}
	s := d.states[from]
	switch {
	case s.ends && (b == '\n' || b == '\r'):
		to = hit
	case b == '\n':
		to = d.start
	default:
		to = d.state(d.after(s.set, b), false)
		if to >= firstState && d.states[to].matches {
			to = hit
		}
	}
	d.next[at] = to
	for c := utf8.RuneSelf; b >= utf8.RuneSelf && c <= 0xff; c++ {
		d.next[int(from)<<8|c] = to
	}
	return to
}

// after returns the instructions that a byte leads to from a set, before empty transitions.
func (d *dfa) after(set []uint32, b byte) []uint32 {
	var to []uint32
	for _, pc := range set {
		inst := &d.prog.Inst[pc]
		switch {
		case b < utf8.RuneSelf && consumes(inst) && inst.MatchRune(rune(b)):
			to = append(to, inst.Out)
		case b >= utf8.RuneSelf && beyondASCII(inst):
			to = append(to, pc, inst.Out) // the byte may be the character's last or not
		}
	}
	return to
}

func consumes(inst *syntax.Inst) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	}
	return false
}

// beyondASCII reports whether an instruction matches any character outside of ASCII or an invalid
// byte.
func beyondASCII(inst *syntax.Inst) bool {
	switch {
	case inst.Op == syntax.InstRuneAny || inst.Op == syntax.InstRuneAnyNotNL:
		return true
	case !consumes(inst) || len(inst.Rune) == 0:
		return false
	case slices.Max(inst.Rune) >= utf8.RuneSelf:
		return true
	}
	// With FoldCase a single letter stands for all its cases.
	r := inst.Rune[0]
	for f := unicode.SimpleFold(r); len(inst.Rune) == 1 && syntax.Flags(inst.Arg)&syntax.FoldCase != 0 &&
		f != r; f = unicode.SimpleFold(f) {
		if f >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// state returns the state for a set of instructions and for matches that begin here. It makes the
// state if necessary.
func (d *dfa) state(from []uint32, lineStart bool) uint16 {
	d.made++
	d.set = d.set[:0]
	matches := d.add(uint32(d.prog.Start), lineStart, false)
	for _, pc := range from {
		matches = d.add(pc, lineStart, false) || matches
	}
	slices.Sort(d.set)
	n := len(d.set)
	ends := matches
	for _, pc := range d.set[:n] {
		if inst := &d.prog.Inst[pc]; inst.Op == syntax.InstEmptyWidth {
			ends = d.add(inst.Out, lineStart, true) || ends
		}
	}
	d.key = d.key[:0]
	for _, pc := range d.set[:n] {
		d.key = binary.NativeEndian.AppendUint32(d.key, pc)
	}
	if ends {
		d.key = append(d.key, 1)
	}
	if matches {
		d.key = append(d.key, 1)
	}
	if id, ok := d.byKey[string(d.key)]; ok {
		return id
	}
	if len(d.states) == maxStates {
		d.full = true
		return d.start
	}
	id := uint16(len(d.states))
	d.byKey[string(d.key)] = id
	d.states = append(d.states, dfaState{set: slices.Clone(d.set[:n]), matches: matches, ends: ends})
	d.next = append(d.next, make([]uint16, 256)...)
	return id
}

// add adds an instruction to the set, or the instructions that follow it without a byte. It reports
// whether they match.
func (d *dfa) add(pc uint32, lineStart, lineEnd bool) (matches bool) {
	if d.seen[pc] == d.made {
		return false
	}
	d.seen[pc] = d.made
	inst := &d.prog.Inst[pc]
	switch inst.Op {
	case syntax.InstMatch:
		return true
	case syntax.InstAlt, syntax.InstAltMatch:
		matches = d.add(inst.Out, lineStart, lineEnd)
		return d.add(inst.Arg, lineStart, lineEnd) || matches
	case syntax.InstCapture, syntax.InstNop:
		return d.add(inst.Out, lineStart, lineEnd)
	case syntax.InstEmptyWidth:
		op := syntax.EmptyOp(inst.Arg)
		switch {
		case op&(syntax.EmptyBeginLine|syntax.EmptyBeginText) != 0 && !lineStart:
			return false
		case op&(syntax.EmptyEndLine|syntax.EmptyEndText) != 0 && !lineEnd:
			d.set = append(d.set, pc) // to be tried when the line ends
			return false
		}
		return d.add(inst.Out, lineStart, lineEnd)
	}
	if !lineEnd {
		d.set = append(d.set, pc)
	}
	return false
}

// sure reports whether a hit is a match, given the line's text up to it.
func (d *dfa) sure(text []byte) bool {
	if d.loose {
		return false
	}
	for _, c := range text {
		if c >= utf8.RuneSelf || c == '\r' {
			return false
		}
	}
	return true
}
