package coding

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

func TestE2_ViewImage(t *testing.T) {
	b := newBench(t)
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	b.put("a/pic.png", file.String())
	out := b.run(ViewImage(), object{"path": "a/pic.png"})
	if out.IsError || len(out.Model) != 2 {
		t.Fatalf("%+v", out.Model)
	}
	media, ok := out.Model[1].(llm.Media)
	if !ok || media.MIME != "image/png" || media.Name != "pic.png" || !bytes.Equal(media.Data, file.Bytes()) {
		t.Errorf("%+v", out.Model[1])
	}
	b.put("text.png", "no image")
	b.put("short", "x")
	b.fails(ViewImage(), object{"path": "text.png"}, "text.png is no PNG")
	b.fails(ViewImage(), object{"path": "short"}, "short is no PNG")
	b.fails(ViewImage(), object{"path": "gone.png"}, "gone.png")
	b.fails(ViewImage(), object{"path": "a"}, "directory")
}
