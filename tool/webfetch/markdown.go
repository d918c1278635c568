package webfetch

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/attractor-go/attractor/internal/guard"
)

const (
	// maxNested limits how deep lists and quotations are shown inside each other, because each line
	// has a prefix for each of them.
	maxNested = 12
	// maxCells limits the cells of a table, counted with those that its longest row requires of the
	// others.
	maxCells = 50_000
	// maxLink limits the bytes of a link, and maxLinks those of all links of a page. Relative links
	// are made absolute, so a short page with a long address has long links.
	maxLink, maxLinks = 2000, maxPage
)

// markdown returns the title and the visible text of a page, or the cause of ctx if that ends
// first. Links are absolute.
func markdown(ctx context.Context, text string, at *url.URL) (title, md string, err error) {
	type page struct{ title, md string }
	p, err := guard.Within(ctx, "the conversion of its HTML", func() (p page, err error) {
		p.title, p.md, err = convert(text, at)
		return p, err
	})
	return p.title, p.md, err
}

// convert converts a page.
func convert(text string, at *url.URL) (title, md string, err error) {
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return "", "", fmt.Errorf("its HTML cannot be read: %w", err)
	}
	c := cleaner{base: at, size: len(at.String()), links: maxLinks}
	c.clean(doc, 0)
	conv := converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(base.NewBasePlugin(),
			commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
			table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal))))
	out, err := conv.ConvertNode(doc)
	title = strings.ToValidUTF8(strings.Join(strings.Fields(c.title), " "), "")
	return title, strings.ToValidUTF8(string(out), "\ufffd"), err
}

// cleaner removes from a page what a reader of it does not see, and what would make its text much
// longer than the page.
type cleaner struct {
	base  *url.URL
	size  int // of base, in bytes
	based bool
	title string
	links int // bytes that links may still have
}

// clean cleans a node that is in nested lists, quotations and tables, and what is below it. The
// parser limits how deep nodes are.
func (c *cleaner) clean(n *html.Node, nested int) {
	switch n.DataAtom {
	case atom.Title:
		if c.title == "" && n.FirstChild != nil && n.FirstChild.Type == html.TextNode {
			c.title = n.FirstChild.Data[:min(len(n.FirstChild.Data), 300)]
		}
	case atom.Base:
		if u := c.absolute(attribute(n, "href")); u != nil && !c.based {
			c.base, c.size, c.based = u, len(u.String()), true
		}
	case atom.Ul, atom.Ol, atom.Li, atom.Blockquote, atom.Dl, atom.Dd:
		if nested++; nested > maxNested {
			rename(n, atom.Div)
		}
	case atom.Table:
		if nested++; nested > maxNested || tooBig(n) {
			flatten(n)
		}
	}
	c.attributes(n)
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if hidden(child) {
			n.RemoveChild(child)
		} else {
			c.clean(child, nested)
		}
		child = next
	}
}

// hidden reports whether a node is not shown.
func hidden(n *html.Node) bool {
	if n.Type == html.CommentNode {
		return true
	}
	if n.Type != html.ElementNode {
		return false
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Svg, atom.Math, atom.Canvas,
		atom.Audio, atom.Video,
		atom.Input, atom.Select, atom.Textarea, atom.Datalist, atom.Noscript, atom.Frame, atom.Applet:
		return true
	case atom.Dialog:
		return !has(n, "open")
	case atom.Img:
		src := strings.ToLower(strings.TrimSpace(attribute(n, "src")))
		return src == "" || strings.HasPrefix(src, "data:")
	}
	style := strings.ToLower(strings.Join(strings.Fields(attribute(n, "style")), ""))
	for _, invisible := range []string{"display:none", "visibility:hidden", "opacity:0;", "font-size:0;",
		"font-size:0px"} {
		if strings.Contains(style+";", invisible) {
			return true
		}
	}
	return has(n, "hidden") || attribute(n, "aria-hidden") == "true"
}

// attributes keeps the attributes that the text is made of. Links become absolute; those that lead
// to no place are removed.
func (c *cleaner) attributes(n *html.Node) {
	kept := n.Attr[:0]
	for _, a := range n.Attr {
		switch {
		case n.DataAtom == atom.A && a.Key == "href", n.DataAtom == atom.Img && a.Key == "src":
			u := c.absolute(strings.TrimSpace(a.Val))
			if u == nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
				continue
			}
			a.Val = u.String()
			kept = append(kept, a)
		case slices.Contains([]string{"alt", "class", "start", "role"}, a.Key): // class has the language of code
			kept = append(kept, a)
		}
	}
	n.Attr = kept
}

// absolute returns the place that a link leads to, or nil if it is none, is too long, or comes
// after too many others.
func (c *cleaner) absolute(link string) *url.URL {
	size := len(link) + c.size
	if size > maxLink || size > c.links {
		return nil
	}
	u, err := c.base.Parse(link)
	if err != nil {
		c.links -= size
		return nil
	}
	c.links -= max(size, len(u.String())) // which has escapes
	return u
}

// tooBig reports whether a table would have too many cells if all its rows were as long as the
// longest.
func tooBig(n *html.Node) bool {
	rows, longest := 0, 0
	var count func(n *html.Node)
	count = func(n *html.Node) {
		if n.DataAtom == atom.Tr {
			rows++
			cells := 0
			for child := n.FirstChild; child != nil; child = child.NextSibling {
				cells++
			}
			longest = max(longest, cells)
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			if child.DataAtom != atom.Table {
				count(child)
			}
		}
	}
	count(n)
	return rows*longest > maxCells
}

// flatten turns a table into plain blocks of text.
func flatten(n *html.Node) {
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if child.DataAtom != atom.Table {
			flatten(child)
		}
	}
	switch n.DataAtom {
	case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Caption, atom.Colgroup, atom.Col:
		rename(n, atom.Div)
	case atom.Td, atom.Th:
		rename(n, atom.Span)
	}
}

func rename(n *html.Node, a atom.Atom) { n.DataAtom, n.Data = a, a.String() }

func has(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}
