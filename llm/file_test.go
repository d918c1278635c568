package llm_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

func picture(t *testing.T, encode func(b *bytes.Buffer, m image.Image) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func archive(t *testing.T, names ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		if _, err := w.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestI17_FilePart(t *testing.T) {
	dir := t.TempDir()
	const of = "application/vnd.openxmlformats-officedocument."
	for name, c := range map[string]struct{ content, mime, refusal string }{
		"a.png": {picture(t, func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) }),
			"image/png", ""},
		"a.jpg": {picture(t, func(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) }),
			"image/jpeg", ""},
		"gif.with.a.png": {picture(t, func(b *bytes.Buffer, m image.Image) error { return gif.Encode(b, m, nil) }),
			"image/gif", ""},
		"a.webp": {"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp", ""},
		"a.heic": {"\x00\x00\x00\x18ftypheic\x00\x00", "image/heic", ""},
		"a.heif": {"\x00\x00\x00\x18ftypmif1\x00\x00", "image/heif", ""},
		"a.pdf":  {"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "application/pdf", ""},
		"a.docx": {archive(t, "[Content_Types].xml", "word/document.xml"), of + "wordprocessingml.document",
			""},
		"a.xlsx": {archive(t, "[Content_Types].xml", "xl/workbook.xml"), of + "spreadsheetml.sheet", ""},
		"a.pptx": {archive(t, "[Content_Types].xml", "ppt/presentation.xml"),
			of + "presentationml.presentation", ""},
		"a.wav":     {"RIFF\x24\x00\x00\x00WAVEfmt ", "audio/wav", ""},
		"a.mp3":     {"ID3\x04\x00", "audio/mpeg", ""},
		"notes":     {"Größe: 5\n\ttab\r\n", "text/plain", ""},
		"bom.md":    {"\uFEFF# Title\n", "text/plain", ""},
		"BMW.txt":   {"BM is how this text begins\n", "text/plain", ""},
		"icon.tsx":  {"export const Icon = () => <svg width=\"1\"><path d=\"\"/></svg>;\n", "text/plain", ""},
		"page.html": {"<!doctype html>\n<!-- <svg> -->\n<body><svg/></body>\n", "text/plain", ""},
		"svgz.xml":  {"<svgz/>\n", "text/plain", ""},

		"a.bmp": {"BM\x46\x00\x00\x00\x00\x00", "",
			"a bmp image, which no model takes: convert it to png, jpeg or webp"},
		"a.tiff": {"II*\x00\x08\x00", "", "a tiff image"},
		"a.ico":  {"\x00\x00\x01\x00\x01\x00", "", "an icon"},
		"a.avif": {"\x00\x00\x00\x18ftypavif\x00\x00", "", "an avif image"},
		"a.svg":  {`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`, "", "an svg drawing"},
		"b.svg": {"\uFEFF\n<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"\">\n<!-- a > b -->\n<svg\n/>", "",
			"an svg drawing"},
		"c.svg":      {"<?xml version=\"1.0\"?>\n<!DOCTYPE svg [\n<!ENTITY a \"b\">\n]>\n<svg>", "", "an svg drawing"},
		"a.zip":      {archive(t, "a.txt"), "", "a zip archive: unpack it"},
		"broken.zip": {"PK\x03\x04 and nothing else", "", "a broken zip archive"},
		"a.doc":      {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "", "save it as docx"},
		"a.gz":       {"\x1f\x8b\x08\x00", "", "compressed: unpack it"},
		"utf16.txt":  {"\xff\xfeh\x00i\x00", "", "convert it to UTF-8"},
		"a.bin": {"\x7fELF\x02\x01\x01\x00\x00\x00", "",
			"of a type that no model takes, it begins with 7f 45 4c 46 02 01 01 00"},
		"latin1.txt": {"Gr\xf6\xdfe", "", "of a type that no model takes"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := llm.FilePart(path)
		if c.refusal != "" {
			if !errors.Is(err, llm.ErrUnsupported) || !strings.Contains(err.Error(), c.refusal) ||
				!strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v, %v, want %q", name, got.MIME, err, c.refusal)
			}
			continue
		}
		title := name
		if strings.HasPrefix(c.mime, "image/") {
			title = ""
		}
		if err != nil || got.MIME != c.mime || string(got.Data) != c.content || got.Name != title {
			t.Errorf("%s: %s, %d bytes, name %q, %v; want %s", name, got.MIME, len(got.Data), got.Name, err, c.mime)
		}
		var _ llm.Part = got
	}
}

func TestI17_FilePartRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int64) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "missing"):    "cannot be read: ",
		dir:                              "is a directory, not a file",
		write("empty", 0):                "is empty",
		write("large", llm.MaxFile+1):    "larger than 32 MiB",
		write("sparse", 5*llm.MaxFile):   "larger than 32 MiB",
		filepath.Join(dir, "empty", "x"): "cannot be read: ",
	} {
		_, err := llm.FilePart(path)
		if !errors.Is(err, llm.ErrInvalidRequest) || !strings.Contains(err.Error(), want) ||
			strings.Count(err.Error(), path) != 1 {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := llm.FilePart(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v hides why", err)
	}
}
