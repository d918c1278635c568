package render

import (
	"bufio"
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	markup "github.com/yuin/goldmark/renderer/html"

	"github.com/attractor-go/attractor/sanitize"
)

// look holds how a piece of text looks.
type look uint8

const (
	strong look = 1 << iota
	emphasis
	struck
	code
	link
	faint
	good
	bad
)

// piece holds text of one look. A line end in it is a line end on the screen.
type piece struct {
	text string
	look look
}

// inline returns the pieces of a text, as the nodes in it look besides its own look. HTML stays as
// it is written.
func inline(parent ast.Node, own look, source []byte) (list []piece) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Text:
			text := string(n.Value(source))
			if own&code == 0 {
				text = unescaped(text)
			}
			if n.SoftLineBreak() || n.HardLineBreak() {
				text += "\n"
			}
			list = append(list, piece{text, own})
		case *ast.CodeSpan:
			for _, p := range inline(n, own|code, source) {
				list = append(list, piece{strings.ReplaceAll(p.text, "\n", " "), p.look})
			}
		case *ast.Emphasis:
			look := emphasis
			if n.Level == 2 {
				look = strong
			}
			list = append(list, inline(n, own|look, source)...)
		case *extast.Strikethrough:
			list = append(list, inline(n, own|struck, source)...)
		case *ast.Link:
			list = append(list, linked(n, n.Destination, own, source)...)
		case *ast.Image:
			list = append(list, linked(n, n.Destination, own, source)...)
		case *ast.AutoLink:
			list = append(list, piece{string(n.Label(source)), own | link})
		case *ast.RawHTML:
			list = append(list, piece{string(n.Segments.Value(source)), own})
		}
	}
	return list
}

// linked returns the pieces of a link or an image, with its destination unless that is its text.
func linked(n ast.Node, destination []byte, own look, source []byte) []piece {
	list := inline(n, own|link, source)
	label := ""
	for _, p := range list {
		label += p.text
	}
	if url := unescaped(string(destination)); url != "" && url != label {
		list = append(list, piece{" (" + url + ")", own | faint})
	}
	return list
}

// unescaped returns a text without backslashes before punctuation, and with the characters that
// references such as &amp; stand for. These characters are text and not Markdown.
func unescaped(text string) string {
	if !strings.ContainsAny(text, `\&`) {
		return text
	}
	var b strings.Builder
	w := bufio.NewWriter(&b)
	markup.DefaultWriter.Write(w, []byte(text)) // as HTML, in which nothing but that is left to be decoded
	_ = w.Flush()                               // of a strings.Builder
	return sanitize.Text(html.UnescapeString(b.String()))
}
