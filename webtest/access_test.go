package webtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp/kb"
)

// Who uses the page with a screen reader has landmarks, headings in order, and a name for
// everything that can be used.
func TestN5_Accessible(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	p, _ := openSession(h, id)
	p.keys("f")
	p.wait(current + `.querySelector(".details .foot")`)
	p.accessible("the session", "banner", "main", "navigation", "search", "complementary", "region")
	p.focusable()
	p.clickText("#crumbs a", "Sessions")
	p.wait(`document.querySelectorAll("#list li .session").length == 3`)
	p.accessible("the list", "banner", "main")
	p.focusable()
}

// accessible checks the tree that Chromium gives to screen readers.
func (p *page) accessible(where string, landmarks ...string) {
	p.Helper()
	var roles []string
	level := 0
	for _, n := range call(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role, name := said(n.Role), strings.TrimSpace(said(n.Name))
		roles = append(roles, role)
		switch role {
		case "button", "link", "textbox", "searchbox", "combobox", "checkbox", "radio", "slider", "image", "img",
			"dialog", "region", "complementary", "navigation", "search", "listbox":
			if name == "" {
				p.Errorf("%s: a %s has no name (node %d)", where, role, n.BackendDOMNodeID)
			}
		case "heading":
			for _, property := range n.Properties {
				if property.Name == "level" {
					now := 0
					_, _ = fmt.Sscan(said(property.Value), &now)
					if now > level+1 {
						p.Errorf("%s: the heading %q is of level %d, after one of level %d", where, name, now, level)
					}
					level = now
				}
			}
		}
	}
	for _, want := range landmarks {
		if !slices.Contains(roles, want) {
			p.Errorf("%s: there is no %s", where, want)
		}
	}
}

// said returns a value of the tree as a text.
func said(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.Trim(string(v.Value), `"`)
}

// focusable goes through the page with Tab: the focus is always seen, stays in the window, and does
// not get stuck.
func (p *page) focusable() {
	p.Helper()
	eval[bool](p, `document.activeElement.blur(), true`)
	var seen []string
	for range 60 {
		p.keys(kb.Tab)
		at := eval[string](p, `(() => {
			const e = document.activeElement, r = e.getBoundingClientRect(), s = getComputedStyle(e);
			if (e === document.body) return "";
			const name = e.localName + "#" + e.id + "." + (e.getAttribute("class") || "") + " " + (e.getAttribute("aria-label") || e.innerText || "").slice(0, 30);
			const ring = s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1 || s.boxShadow !== "none";
			const inside = r.width > 0 && r.height > 0 && r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth;
			return (ring ? "" : "NO RING ") + (inside ? "" : "NOT SEEN ") + name;
		})()`)
		if strings.HasPrefix(at, "NO") {
			p.Errorf("the focus is not seen on %s", at)
		}
		if at == "" || len(seen) > 3 && at == seen[0] {
			return
		}
		seen = append(seen, at)
	}
	if slices.Equal(seen[len(seen)-3:], []string{seen[len(seen)-1], seen[len(seen)-1], seen[len(seen)-1]}) {
		p.Errorf("the focus is stuck at %s", seen[len(seen)-1])
	}
}
