package webtest

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the README's screenshot, docs/viewer.png")

// The README shows what the page looks like: the edit that mends the bug, among what came before
// and after. Written by this test with -update.
func TestN5_READMEShowsThePage(t *testing.T) {
	t.Parallel()
	const file = "../docs/viewer.png"
	if *update {
		h, id := bugfix(t)
		p, _ := openSession(h, id)
		p.size(1360, 860)
		p.keys("e")
		p.wait(current + `.querySelector(".details .diff").innerText.includes("delay < 0")`)
		p.keys("\r")
		p.keys("e")
		p.wait(current + `.querySelector(".details .diff").innerText.includes("for range attempt")`)
		p.settle()
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		drawn, err := png.Decode(bytes.NewReader(picture))
		if err != nil {
			t.Fatal(err)
		}
		var small bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, fewColours(drawn)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, small.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if size, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || size.Width < 1000 || len(data) > 200_000 {
		t.Errorf("%s: %d bytes, %d pixels wide: %v", file, len(data), size.Width, err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(readme, []byte("docs/viewer.png")) {
		t.Error("the README does not show docs/viewer.png")
	}
}

// fewColours returns a picture with 256 of its colours: of those that are hard to tell apart the
// most frequent one, and of these the most frequent. The others, of the edges of letters, become
// the nearest one.
func fewColours(from image.Image) image.Image {
	area := from.Bounds()
	count, alike := map[color.RGBA]int{}, map[color.RGBA]int{}
	coarse := func(c color.RGBA) color.RGBA { return color.RGBA{c.R >> 3, c.G >> 3, c.B >> 3, 0} }
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			c := color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)
			count[c]++
			alike[coarse(c)]++
		}
	}
	best := map[color.RGBA]color.RGBA{}
	for c, n := range count {
		if old := best[coarse(c)]; n > count[old] {
			best[coarse(c)] = c
		}
	}
	var palette color.Palette
	for _, key := range slices.SortedFunc(maps.Keys(best),
		func(a, b color.RGBA) int { return alike[b] - alike[a] })[:min(256, len(best))] {
		palette = append(palette, best[key])
	}
	to := image.NewPaletted(area, palette)
	draw.Draw(to, area, from, area.Min, draw.Src)
	return to
}
