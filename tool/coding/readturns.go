package coding

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/tool"
)

// maxTurnsPage limits the text of turns that one call returns, in bytes: less than the tool's
// limit, so that nothing is truncated.
const maxTurnsPage = 24_000

// readTurns reads or searches turns that a compaction has replaced. Lines are counted from the
// start of the first requested turn.
func readTurns(ctx context.Context, call *tool.Call, args readOutputArgs, match *regexp.Regexp) (tool.Result, error) {
	history := sessionOf(call).History()
	if history == nil {
		return tool.Result{}, errors.New("this session keeps no turns; use what is in the conversation")
	}
	first, last, err := turnRange(args.Turns)
	if err != nil {
		return tool.Result{}, err
	}
	page := turnsPage{match: match, offset: max(args.Offset, 1), limit: args.Limit}
	if page.limit == 0 {
		page.limit = defaultOutputLines
	}
	turns, newest := 0, 0
	for turn, err := range history.Turns(ctx, first, last) {
		if err != nil {
			return tool.Result{}, err
		}
		turns, newest = turns+1, turn.Number
		if !page.add(ctx, turn) {
			fmt.Fprintf(&page.text, "[There is more; go on with the same turns and offset %d.]\n", page.line)
			return tool.Text(page.text.String()), nil
		}
	}
	switch {
	case page.shown > 0:
	case turns == 0:
		return tool.Result{}, errors.New(
			"no summary has replaced one of these turns; those that exist are still in the conversation")
	case args.Pattern != "":
		fmt.Fprintf(&page.text, "No line matches in the replaced turns up to %d (%d lines). Later turns are in the conversation.", newest, page.line)
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

// turnsPage holds what one call shows of the turns.
type turnsPage struct {
	match         *regexp.Regexp
	offset, limit int
	text          strings.Builder
	line, shown   int // lines so far
}

// add writes the requested lines of a turn. It returns false if there is no room for a line, or no
// time.
func (p *turnsPage) add(ctx context.Context, turn tool.Turn) bool {
	named := false
	for line := range strings.Lines(turn.Text) {
		for _, piece := range pieces(strings.TrimRight(line, "\r\n")) {
			p.line++
			if p.line < p.offset || ctx.Err() == nil && !p.match.MatchString(piece) {
				continue
			}
			if ctx.Err() != nil || p.shown == p.limit || p.text.Len() > maxTurnsPage {
				return false
			}
			if !named {
				named = true
				fmt.Fprintf(&p.text, "[turn %d, %s]\n", turn.Number, turn.Kind)
			}
			fmt.Fprintf(&p.text, "%3d | %s\n", p.line, piece)
			p.shown++
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
