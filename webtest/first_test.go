package webtest

import (
	"os"
	"testing"

	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/journal"
)

// BenchmarkN5_FirstRows opens the page of a journal of about 50 MB and reports when its first rows
// are there, counted from the click, beside the same for a short one.
func BenchmarkN5_FirstRows(b *testing.B) {
	h := newHome(b, nil)
	id := long(b, h, 27_000)
	short := "0d9c3a5e-0000-4000-8000-000000000003"
	if err := longsession.Write(b.Context(), journal.NewDir(h.journals()), short, 3); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(findJournal(b, h, id))
	if err != nil {
		b.Fatal(err)
	}
	var first, small, all float64
	for b.Loop() {
		v, p := h.view(), newPage(b)
		p.open(v.url)
		p.wait(`document.querySelectorAll("#list li .session").length == 2`)
		open := func(id, until string) float64 {
			return eval[float64](p, `new Promise((done) => { const began = performance.now(); location.hash = location.hash.replace(/&session.*/, "") + "&session=`+id+`";
				const look = () => { if (`+until+
				`) done(performance.now() - began); else requestAnimationFrame(look); }; look(); })`)
		}
		// the viewer ends before the page
		p.allow("NavigationEntryMarkedSkippable|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE")
		small += open(short, `document.querySelector("#timeline .sheet .row.k-call")`)
		eval[bool](p, `document.querySelector("#crumbs a").click(), true`)
		p.wait(`!document.querySelector("#list").hidden`)
		first += open(id, `document.querySelector("#timeline .sheet .row.k-call, #timeline .sheet .row.k-text")`)
		all += eval[float64](p, `new Promise((done) => { const began = performance.now(); const look = () => { if (document.querySelector("#overview .facts")?.innerText.includes("27,0")) done(performance.now() - began); else requestAnimationFrame(look); }; look(); })`)
		v.end()
	}
	n := float64(b.N)
	b.ReportMetric(float64(info.Size())/1e6, "MB")
	b.ReportMetric(first/n, "ms/first-rows")
	b.ReportMetric(all/n, "ms/overview-after")
	b.ReportMetric(first/small, "of-a-short-one")
}
