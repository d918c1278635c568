package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The measures of the picture. A character is as wide as in most fonts of terminals at this size.
const (
	cellWidth = 8.4
	lineSpace = 18
	baseline  = 13
	margin    = 14
	hold      = 5 * time.Second // how long the last frame stays
)

// look is the style sheet. The animation moves a strip with all frames side by side, of which the
// window shows one.
const look = `
svg{--fg:#24292f;--bg:#f6f8fa;--edge:#d0d7de;--c31:#b3261e;--c32:#116329;--c33:#7d4e00;--c34:#0550ae;--c35:#6639ba;--c36:#0a6070;--c37:#57606a}
@media(prefers-color-scheme:dark){svg{--fg:#d6dde5;--bg:#0d1117;--edge:#30363d;--c31:#ff8b82;--c32:#6fd083;--c33:#e0b050;--c34:#79b8ff;--c35:#c9a0ff;--c36:#66cbdc;--c37:#9aa4af}}
.window{fill:var(--bg);stroke:var(--edge)}
text{fill:var(--fg);font:14px ui-monospace,SFMono-Regular,Menlo,"DejaVu Sans Mono","Liberation Mono",Consolas,monospace;white-space:pre}
.r{fill:var(--c31)}.g{fill:var(--c32)}.y{fill:var(--c33)}.u{fill:var(--c34)}.m{fill:var(--c35)}.c{fill:var(--c36)}.w{fill:var(--c37)}
.b{font-weight:bold}.d{opacity:.7}.i{font-style:italic}.l{text-decoration:underline}.s{text-decoration:line-through}
.k{fill:var(--fg);opacity:.55}
@media(prefers-reduced-motion:reduce){.film{animation:none!important}}
`

// svg returns the film as an animated picture. Without animation it shows the last frame.
func (f *film) svg() ([]byte, error) {
	const width, height = columns * cellWidth, rows * lineSpace
	lines := &lineTable{ids: map[string]string{}}
	var strip, times bytes.Buffer
	total := f.length + hold
	last := len(f.frames) - 1
	for i, fr := range f.frames {
		fmt.Fprintf(&strip, "<g transform=\"translate(%s)\">%s</g>\n", decimal(float64(i)*width), lines.frame(fr))
		percent := 100 * fr.at.Seconds() / total.Seconds()
		fmt.Fprintf(&times, "%s%%{transform:translate(%spx)}", decimal(percent), decimal(-float64(i)*width))
	}
	end := decimal(-float64(last) * width)
	fmt.Fprintf(&times, "100%%{transform:translate(%spx)}", end)

	var b bytes.Buffer
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %d\" role=\"img\">\n"+
		"<title>A recorded session of attractor</title>\n<desc>", decimal(width+2*margin), height+2*margin)
	if err := xml.EscapeText(&b, []byte(f.transcript)); err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "</desc>\n<style>%s.film{transform:translate(%spx);animation:film %.2fs step-end infinite}\n"+
		"@keyframes film{%s}</style>\n", look, end, total.Seconds(), times.String())
	fmt.Fprintf(&b, "<defs>\n%s</defs>\n", lines.defs.String())
	fmt.Fprintf(&b, "<rect class=\"window\" x=\".5\" y=\".5\" width=\"%s\" height=\"%d\" rx=\"8\"/>\n",
		decimal(width+2*margin-1), height+2*margin-1)
	fmt.Fprintf(&b, "<svg x=\"%d\" y=\"%d\" width=\"%s\" height=\"%d\"><g class=\"film\">\n%s</g></svg>\n</svg>\n",
		margin, margin, decimal(width), height, strip.String())
	return b.Bytes(), nil
}

// decimal returns a number with at most two decimals.
func decimal(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", x), "0"), ".")
}

// lineTable holds each line once, and each block of lines.
type lineTable struct {
	ids  map[string]string
	defs bytes.Buffer
}

// frame returns the elements of a frame.
func (t *lineTable) frame(f frame) string {
	var b strings.Builder
	if f.cursor {
		fmt.Fprintf(&b, `<rect class="k" x="%s" y="%d" width="%s" height="%d"/>`, decimal(float64(f.x)*cellWidth),
			f.y*lineSpace+1, decimal(cellWidth), lineSpace-2)
	}
	for i := 0; i < len(f.lines); i += block {
		if id := t.block(f.lines[i:min(i+block, len(f.lines))]); id != "" {
			fmt.Fprintf(&b, `<use href="#%s" y="%d"/>`, id, i*lineSpace)
		}
	}
	return b.String()
}

// block is the number of lines that make one element. Most frames differ in few lines from the one
// before, so most of their blocks are in the table already.
const block = 5

// block returns the id of lines that stand together, or "" if all are empty.
func (t *lineTable) block(lines []string) string {
	key := strings.Join(lines, "\n")
	if id, ok := t.ids[key]; ok {
		return id
	}
	var b strings.Builder
	for i, line := range lines {
		if id := t.line(line); id != "" {
			fmt.Fprintf(&b, `<use href="#%s" y="%d"/>`, id, i*lineSpace+baseline)
		}
	}
	return t.add(key, b.String())
}

// add defines an element and returns its id, or "" if it is empty.
func (t *lineTable) add(key, element string) string {
	if element == "" {
		return ""
	}
	id := fmt.Sprintf("n%d", len(t.ids))
	t.ids[key] = id
	fmt.Fprintf(&t.defs, "<g id=\"%s\">%s</g>\n", id, element)
	return id
}

// line returns the id of a line, or "" if it is empty.
func (t *lineTable) line(line string) string {
	if id, ok := t.ids["line "+line]; ok {
		return id
	}
	var b bytes.Buffer
	for _, p := range pieces(line) {
		b.WriteString("<text" + p.style.class())
		if p.column > 0 {
			fmt.Fprintf(&b, ` x="%s"`, decimal(float64(p.column)*cellWidth))
		}
		if n := len([]rune(p.text)); n > 1 {
			fmt.Fprintf(&b, ` textLength="%s"`, decimal(float64(n)*cellWidth))
		}
		b.WriteString(">")
		_ = xml.EscapeText(&b, []byte(p.text)) // a buffer takes everything
		b.WriteString("</text>")
	}
	return t.add("line "+line, b.String())
}

// class returns the attribute for a style.
func (s style) class() string {
	var names []string
	if s.colour != "" {
		names = append(names, string("rgyumcw"[s.colour[1]-'1']))
	}
	for name, is := range map[string]bool{"b": s.bold, "d": s.dim, "i": s.italic, "l": s.under, "s": s.strike} {
		if is {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return fmt.Sprintf(" class=%q", strings.Join(names, " "))
}
