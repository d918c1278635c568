package webtest

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"

	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/journal"
)

var rounds = flag.Int("rounds", 2500, "rounds of the long session; each has two rows")

// long writes the journal of a long session into a home, and returns its id.
func long(t testing.TB, h *home, rounds int) string {
	t.Helper()
	const id = "0d9c3a5e-0000-4000-8000-000000005000"
	if err := longsession.Write(t.Context(), journal.NewDir(h.journals()), id, rounds); err != nil {
		t.Fatal(err)
	}
	return id
}

// figures are what the browser measures of a page.
type figures struct {
	Heap, Nodes float64
}

// measure returns the page's heap, after a collection, and how many nodes it has.
func (p *page) measure() (f figures) {
	p.Helper()
	call(p, performance.Enable, performance.EnableParams{})
	eval[bool](p, `window.gc ? (gc(), true) : false`)
	for _, m := range call(p, performance.GetMetrics, cdp.Empty{}).Metrics {
		switch m.Name {
		case "JSHeapUsedSize":
			f.Heap = m.Value
		case "Nodes":
			f.Nodes = m.Value
		}
	}
	return f
}

// scroll scrolls the timeline to its end and back, a screen each frame, and returns the longest
// task of the page in milliseconds.
const scroll = `(async () => {
	const tasks = [0], t = document.querySelector("#timeline");
	const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map((e) => e.duration)));
	observer.observe({ type: "longtask" });
	const frame = () => new Promise((next) => requestAnimationFrame(next));
	const down = t.scrollHeight / 300;
	let most = 0;
	for (let y = 0; y <= t.scrollHeight; y += Math.max(down, 300)) { t.scrollTop = y; await frame(); most = Math.max(most, document.querySelectorAll("*").length); }
	for (let y = t.scrollHeight; y >= 0; y -= Math.max(down, 700)) { t.scrollTop = y; await frame(); most = Math.max(most, document.querySelectorAll("*").length); }
	await new Promise((next) => setTimeout(next, 100));
	observer.disconnect();
	return [Math.max(...tasks), most];
})()`

// A session of 5,000 rows is scrolled from one end to the other while only what is seen is in the
// document.
func TestN5_FiveThousandRows(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	id := long(t, h, *rounds)
	began := time.Now()
	p, _ := openSession(h, id)
	opened := time.Since(began)
	p.wait(`document.querySelector("#timeline .sheet .row").getAttribute("aria-setsize") >= ` + strconv.Itoa(2**rounds))
	p.shot("open")
	got := eval[[]float64](p, scroll)
	if got[1] > 3000 {
		t.Errorf("the document had %v elements", got[1])
	}
	p.keys("G")
	p.wait(`document.activeElement.parentElement.getAttribute("aria-posinset") == document.activeElement.parentElement.getAttribute("aria-setsize")`)
	p.keys("g")
	p.wait(`document.activeElement.parentElement.getAttribute("aria-posinset") == "1"`)
	f := p.measure()
	if f.Heap > 100e6 || f.Nodes > 30000 {
		t.Errorf("the page has a heap of %.0f MB and %v nodes", f.Heap/1e6, f.Nodes)
	}
	t.Logf("%d rounds: opened in %v, at most %v elements, heap %.1f MB, %v nodes, longest task while scrolling %v ms",
		*rounds, opened, got[1], f.Heap/1e6, f.Nodes, got[0])
}

// held passes requests on. Those that watch a session wait until the channel is closed.
type held chan struct{}

func (h held) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/watch") {
		<-h
	}
	return http.DefaultTransport.RoundTrip(r)
}

// While a long session is read the page says so. A filter that was chosen then shows the rows that
// fit, as they come.
func TestN5_FilterWhileReading(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	server, err := url.Parse(h.view(id).url)
	if err != nil {
		t.Fatal(err)
	}
	gate := make(held)
	proxy := httptest.NewServer(&httputil.ReverseProxy{Transport: gate, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: server.Host}) }})
	t.Cleanup(proxy.Close)
	p := newPage(t)
	p.open(proxy.URL + "/#" + server.EscapedFragment())
	p.wait(withText("#timeline .empty", "is being read"))
	p.clickText("#tools button", "Failed")
	p.shot("reading")
	close(gate)
	p.ready()
	rows := `[...document.querySelectorAll("#timeline .sheet .row")].filter((e) => e.getClientRects().length)`
	p.wait(rows + `.length >= 3 && ` + rows + `.every((e) => e.classList.contains("failed"))`)
	p.wait(`!` + visible("#timeline .empty"))
}
