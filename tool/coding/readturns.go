package coding

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/tool"
)

// readTurns reads or searches turns that a compaction has replaced. Lines are counted from the
// start of the first requested turn.
func readTurns(ctx context.Context, call *tool.Call, numbers string, page *page) (tool.Result, error) {
	history := sessionOf(call).History()
	if history == nil {
		return tool.Result{}, errors.New("this session keeps no turns; use what is in the conversation")
	}
	first, last, err := turnRange(numbers)
	if err != nil {
		return tool.Result{}, err
	}
	turns, newest := 0, 0
	for turn, err := range history.Turns(ctx, first, last) {
		if err != nil {
			return tool.Result{}, err
		}
		turns, newest = turns+1, turn.Number
		if !page.addTurn(ctx, turn) {
			fmt.Fprintf(&page.text, "[There is more; go on with the same turns and offset %d.]\n", page.line)
			return tool.Text(page.text.String()), nil
		}
	}
	switch {
	case page.shown > 0:
	case turns == 0:
		return tool.Result{}, errors.New(
			"no summary has replaced one of these turns; those that exist are still in the conversation")
	case page.match.String() != "":
		fmt.Fprintf(&page.text, "No line matches in the replaced turns up to %d (%d lines). Later turns are in the "+
			"conversation.", newest, page.line)
	default:
		fmt.Fprintf(&page.text, "These turns have only %d lines.", page.line)
	}
	return tool.Text(page.text.String()), nil
}

// turnRange parses "3", "3-5" or "3-". An empty text means all turns.
func turnRange(text string) (first, last int, err error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 1, math.MaxInt, nil
	}
	from, to, isRange := strings.Cut(text, "-")
	first, err = strconv.Atoi(strings.TrimSpace(from))
	last = first
	if to = strings.TrimSpace(to); err == nil && isRange {
		last = math.MaxInt
		if to != "" {
			last, err = strconv.Atoi(to)
		}
	}
	if err != nil || first < 1 || last < first {
		return 0, 0, fmt.Errorf("turns is %q; give the number of a turn, such as 3, or a range, such as 3-5", text)
	}
	return first, last, nil
}

// addTurn adds the lines of a turn under a heading. It returns false if there is no room for one,
// or no time.
func (p *page) addTurn(ctx context.Context, turn tool.Turn) bool {
	p.heading = fmt.Sprintf("[turn %d, %s]\n", turn.Number, turn.Kind)
	for line := range strings.Lines(turn.Text) {
		for _, piece := range pieces(strings.TrimRight(line, "\r\n")) {
			if !p.add(ctx, piece) {
				return false
			}
		}
	}
	return true
}

// pieces splits a line that is too long to be shown as one.
func pieces(line string) []string {
	var cut []string
	for len(line) > maxOutputLine {
		at := maxOutputLine
		for at > maxOutputLine-4 && line[at]&0xC0 == 0x80 { // do not split a character
			at--
		}
		cut = append(cut, line[:at])
		line = line[at:]
	}
	return append(cut, line)
}
