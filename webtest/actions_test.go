package webtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/attractor-go/attractor/internal/await"
)

// open goes to a URL.
func (p *page) open(url string) {
	p.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Navigate(url)); err != nil {
		p.Fatalf("opening %s: %v", url, err)
	}
}

// reload loads the page again.
func (p *page) reload() {
	p.Helper()
	if err := chromedp.Do(p.ctx, chromedp.Reload()); err != nil {
		p.Fatalf("reloading: %v", err)
	}
}

// eval returns the value of an expression, which may be a promise.
func eval[T any](p *page, expression string) T {
	p.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return value
}

// wait waits until an expression is true. The page's policy forbids what chromedp.Poll does.
func (p *page) wait(expression string) {
	p.Helper()
	const poll = `new Promise((resolve) => {
		const began = Date.now();
		const look = () => {
			let is = false, why = "";
			try { is = !!(EXPRESSION); } catch (e) { why = " " + e; }
			if (is) resolve("");
			else if (Date.now() - began > LIMIT) resolve("is not true within a minute." + why + " The page says:\n" + document.body.innerText.replace(/\s+/g, " ").slice(0, 500));
			else setTimeout(look, 10);
		};
		look();
	})`
	look := strings.NewReplacer("EXPRESSION", expression, "LIMIT",
		strconv.FormatInt(await.Limit.Milliseconds(), 10)).Replace(poll)
	var problem string
	var err error
	for range 10 { // the page may give way to the one that is waited for
		problem, err = chromedp.Run(p.ctx, chromedp.Evaluate[string](look, chromedp.EvalAwaitPromise))
		if err == nil || !strings.Contains(err.Error(), "navigated or closed") {
			break
		}
	}
	if err != nil || problem != "" {
		p.shot("failed")
		p.Fatalf("%s %s %v", expression, problem, err)
	}
}

// click clicks on the first visible element that matches a selector, in its middle, as a mouse
// does.
func (p *page) click(selector string) {
	p.Helper()
	p.wait(visible(selector))
	if err := chromedp.Do(p.ctx, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible)); err != nil {
		p.Fatalf("clicking on %s: %v", selector, err)
	}
}

// visible returns the expression that an element is on the page and has a size.
func visible(selector string) string {
	return strings.ReplaceAll(`[...document.querySelectorAll(SELECTOR)].some((e) => e.getClientRects().length > 0)`,
		"SELECTOR", quote(selector))
}

// clickText clicks on the first visible element that matches a selector and has a text.
func (p *page) clickText(selector, text string) {
	p.Helper()
	p.wait(withText(selector, text))
	p.settle() // so that it stays where it is
	at := eval[[]float64](p, `(() => { const e = `+withText(selector,
		text)+`; e.scrollIntoView({block: "center"}); const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
	if err := chromedp.Do(p.ctx, chromedp.MouseClickXY(at[0], at[1])); err != nil {
		p.Fatalf("clicking on %s %q: %v", selector, text, err)
	}
}

// withText returns the expression for the first visible element that matches a selector and has a
// text.
func withText(selector, text string) string {
	return `[...document.querySelectorAll(` + quote(selector) +
		`)].find((e) => e.getClientRects().length > 0 && e.textContent.includes(` + quote(text) + `))`
}

// text returns what an element says, as it is seen.
func (p *page) text(selector string) string {
	p.Helper()
	return eval[string](p, `[...document.querySelectorAll(`+quote(selector)+`)].map((e) => e.innerText).join("\n")`)
}

// keys presses keys, wherever the focus is. A key whose press the page takes for itself types
// nothing, as on a real keyboard.
func (p *page) keys(keys string) {
	p.Helper()
	for _, key := range keys {
		var down, up *input.DispatchKeyEventParams
		text := ""
		for _, k := range kb.Encode(key) {
			switch k.Type {
			case kb.KeyChar:
				text = k.Text
			case kb.KeyUp:
				up = k
			default:
				down = k
			}
		}
		if down.Type = input.DispatchKeyEventTypeRawKeyDown; text != "" {
			down.Type, down.Text = input.DispatchKeyEventTypeKeyDown, text
		}
		call(p, input.DispatchKeyEvent, *down)
		call(p, input.DispatchKeyEvent, *up)
	}
}

// size sets the size of the window, in pixels.
func (p *page) size(width, height int64) {
	p.Helper()
	if err := chromedp.Do(p.ctx, chromedp.EmulateViewport(width, height)); err != nil {
		p.Fatal(err)
	}
}

// prefer sets media features such as prefers-color-scheme, as name and value in turn.
func (p *page) prefer(pairs ...string) {
	p.Helper()
	var features []*emulation.MediaFeature
	for i := 0; i+1 < len(pairs); i += 2 {
		features = append(features, &emulation.MediaFeature{Name: pairs[i], Value: pairs[i+1]})
	}
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
}

// shot writes a screenshot of the window if they are wanted.
func (p *page) shot(name string) {
	p.Helper()
	if *screenshots == "" {
		return
	}
	p.picture(filepath.Join(*screenshots, p.Name()+"-"+name+".png"))
}

// picture writes a screenshot of the window to a file.
func (p *page) picture(file string) {
	p.Helper()
	data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		p.Fatal(err)
	}
}

// quote returns a text as a literal of JavaScript.
func quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string can be encoded
	}
	return string(data)
}
