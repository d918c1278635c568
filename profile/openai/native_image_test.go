package openai

import (
	"bytes"
	"image"
	"image/png"
	"runtime"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

func TestE2_ViewImage(t *testing.T) {
	b := newFixture(t)
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	b.put("a/pic.png", file.String())
	out := b.run("view_image", object{"path": "a/pic.png"})
	if out.IsError || len(out.Model) != 2 {
		t.Fatalf("%+v", out.Model)
	}
	media, ok := out.Model[1].(llm.Media)
	if !ok || media.MIME != "image/png" || media.Name != "pic.png" || !bytes.Equal(media.Data, file.Bytes()) {
		t.Errorf("%+v", out.Model[1])
	}
	b.put("text.png", "no image")
	b.put("short", "x")
	for path, want := range map[string]string{
		"text.png": "text.png is not a PNG",
		"short":    "short is not a PNG",
		"gone.png": "gone.png",
		"a":        "directory",
	} {
		if out := b.run("view_image", object{"path": path}); !out.IsError || !strings.Contains(out.Model.Text(), want) {
			t.Errorf("%s: %s", path, out.Model.Text())
		}
	}
}

// A file's name cannot pass for a line of the result: it is quoted.
func TestI10_ViewImageQuotesNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("not run: Windows has no such names")
	}
	b := newFixture(t)
	b.put("picture\n.png", llmtest.PNG)
	b.put("a\n[Not readable: b]", "text")
	for path, want := range map[string]string{"picture\n.png": `"picture\n.png"`,
		"a\n[Not readable: b]": `"a\n[Not readable: b]" is not a PNG`} {
		if text := b.run("view_image", object{"path": path}).Model.Text(); !strings.Contains(text, want) {
			t.Error(text)
		}
	}
}
