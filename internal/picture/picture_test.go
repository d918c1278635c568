package picture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/attractor-go/attractor/internal/picture"
)

// plain returns an image of one colour.
func plain(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = 0xff
	}
	return m
}

// noise returns an image that no format can make small.
func noise(w, h int) *image.NRGBA {
	m, random := plain(w, h), rand.New(rand.NewPCG(1, 2))
	for i := range m.Pix {
		if i%4 != 3 {
			m.Pix[i] = byte(random.Uint32())
		}
	}
	return m
}

func encoded(t *testing.T, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngOf(t *testing.T, m image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, m) })
}

func jpegOf(t *testing.T, m image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, m, nil) })
}

func gifOf(t *testing.T, m image.Image) []byte {
	return encoded(t, func(b *bytes.Buffer) error { return gif.Encode(b, m, nil) })
}

// webpOf is a WebP file of one pixel.
const webpOf = "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"

// withChunk returns a PNG file with another chunk, whose checksum is wrong.
func withChunk(file []byte, name string) []byte {
	const afterHeader = 33
	chunk := append([]byte{0, 0, 0, 4}, name+"datawrng"...)
	return append(append(bytes.Clone(file[:afterHeader]), chunk...), file[afterHeader:]...)
}

func TestU2_Fit(t *testing.T) {
	small := pngOf(t, plain(20, 30))
	for name, c := range map[string]struct {
		data          []byte
		mime          string
		width, height int
		same          bool
	}{
		"a small PNG":                   {small, "image/png", 20, 30, true},
		"at the limit":                  {pngOf(t, plain(2000, 10)), "image/png", 2000, 10, true},
		"over it by a pixel":            {pngOf(t, plain(2001, 10)), "image/png", 2000, 9, false},
		"long and thin":                 {pngOf(t, plain(16, 9000)), "image/png", 3, 2000, false},
		"a photo":                       {jpegOf(t, plain(3000, 1500)), "image/jpeg", 2000, 1000, false},
		"a small photo":                 {jpegOf(t, plain(30, 15)), "image/jpeg", 30, 15, true},
		"many bytes":                    {pngOf(t, noise(1200, 1200)), "image/jpeg", 1200, 1200, false},
		"a GIF, which Gemini takes not": {gifOf(t, plain(20, 30)), "image/png", 20, 30, false},
		"a wrong checksum of a profile": {withChunk(small, "iCCP"), "image/png", 20, 30, false},
		"a WebP":                        {[]byte(webpOf), "image/webp", 1, 1, true},
	} {
		p, err := picture.Fit(c.data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.MIME != c.mime || p.Width != c.width || p.Height != c.height || bytes.Equal(p.Data, c.data) != c.same {
			t.Errorf("%s: %s of %d x %d, want %s of %d x %d, the same %v", name, p.MIME, p.Width, p.Height, c.mime,
				c.width, c.height, c.same)
		}
		if base64 := (len(p.Data) + 2) / 3 * 4; base64 > 5<<20 {
			t.Errorf("%s: %d bytes in Base64", name, base64)
		}
		again, err := picture.Fit(p.Data)
		if err != nil || !bytes.Equal(again.Data, p.Data) || picture.Type(p.Data) != p.MIME {
			t.Errorf("%s: fitted again it is another picture: %v", name, err)
		}
		if scaled := p.FromWidth != p.Width; scaled != (p.Scaled() != "") {
			t.Errorf("%s: %q", name, p.Scaled())
		}
	}
}

func TestU2_Refused(t *testing.T) {
	whole := pngOf(t, noise(200, 200))
	huge := bytes.Clone(pngOf(t, plain(2, 2)))
	binary.BigEndian.PutUint32(huge[16:], 10_000) // the header says so; decoding would need 400 MB
	binary.BigEndian.PutUint32(huge[20:], 10_000)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	deep := bytes.Clone(huge) // 36 megapixels, which would need 288 MB with 16 bits a colour
	deep[24] = 16
	binary.BigEndian.PutUint32(deep[16:], 6_000)
	binary.BigEndian.PutUint32(deep[20:], 6_000)
	binary.BigEndian.PutUint32(deep[29:], crc32.ChecksumIEEE(deep[12:29]))
	passes := jpegOf(t, plain(9, 9))
	frame := bytes.Index(passes, []byte{0xff, 0xc0})
	passes[frame+1] = 0xc2 // drawn in several passes
	binary.BigEndian.PutUint16(passes[frame+5:], 6_000)
	binary.BigEndian.PutUint16(passes[frame+7:], 6_000)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"a JPEG of passes":  {passes, picture.ErrTooLarge},
		"after other bytes": {append([]byte("\xff\xd8\xff\xff\xd3\x00\xff\x00"), passes[2:]...), picture.ErrTooLarge},
		"16 bits a colour":  {deep, picture.ErrTooLarge},
		"text":              {[]byte("hello"), picture.ErrNoImage},
		"nothing":           {nil, picture.ErrNoImage},
		"a header alone":    {whole[:30], picture.ErrDamaged},
		"cut in the middle": {whole[:len(whole)/2], picture.ErrDamaged},
		"100 megapixels":    {huge, picture.ErrTooLarge},
		"a long file":       {append(bytes.Clone(whole), make([]byte, picture.MaxFile)...), picture.ErrTooLarge},
		"a wrong checksum of the pixels": {append(bytes.Clone(whole[:len(whole)-16]),
			append([]byte("wrng"), whole[len(whole)-12:]...)...), picture.ErrDamaged},
		"half a WebP": {[]byte(webpOf[:22]), picture.ErrDamaged},
	} {
		if p, err := picture.Fit(c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v, want %v", name, p, err, c.want)
		}
	}
}

// A photo that is scaled is turned as its camera was held, because the new file does not say that.
func TestU2_Orientation(t *testing.T) {
	m := plain(2400, 240) // white, with a black quarter at the top left
	for y := range 120 {
		for x := range 1200 {
			m.SetNRGBA(x, y, color.NRGBA{A: 0xff})
		}
	}
	photo := jpegOf(t, m)
	for turn, dark := range map[byte][2]int{1: {0, 0}, 2: {1, 0}, 3: {1, 1}, 4: {0, 1}, 5: {0, 0}, 6: {1, 0}, 7: {1, 1},
		8: {0, 1}} {
		exif := append([]byte("\xff\xe1\x00\x22Exif\x00\x00II*\x00\x08\x00\x00\x00\x01"+
			"\x00\x12\x01\x03\x00\x01\x00\x00\x00"), turn, 0, 0, 0, 0, 0, 0, 0)
		p, err := picture.Fit(append(append(bytes.Clone(photo[:2]), exif...), photo[2:]...))
		if err != nil {
			t.Fatal(turn, err)
		}
		got, err := jpeg.Decode(bytes.NewReader(p.Data))
		if err != nil {
			t.Fatal(turn, err)
		}
		size := got.Bounds().Size()
		if wide := turn < 5; wide != (size.X > size.Y) || size.X != p.Width {
			t.Errorf("%d: %v", turn, size)
		}
		for _, corner := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
			at := got.At(size.X/4+corner[0]*size.X/2, size.Y/4+corner[1]*size.Y/2)
			if r, _, _, _ := at.RGBA(); (r < 0x8000) != (corner == dark) {
				t.Errorf("%d: corner %v is %v", turn, corner, at)
			}
		}
	}
}

// A scaled image takes memory for itself, and each of its pixels is the mean of what it covers.
func TestU2_ScaledInLittleMemory(t *testing.T) {
	const side = 4500
	m := image.NewGray(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			m.Pix[y*side+x] = byte(255 * (x / 9 % 2)) // columns of nine pixels, of which four are scaled ones
		}
	}
	file := pngOf(t, m)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, err := picture.Fit(file)
	runtime.ReadMemStats(&after)
	if err != nil || p.Width != 2000 || p.Height != 2000 {
		t.Fatal(p, err)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 120 { // 20 decoded, 16 scaled, 13 encoded
		t.Errorf("it took %d MiB", took)
	}
	got, err := png.Decode(bytes.NewReader(p.Data))
	if err != nil {
		t.Fatal(err)
	}
	for x := range 2000 {
		if r, _, _, _ := got.At(x, x).RGBA(); r>>8 != uint32(255*(x/4%2)) {
			t.Fatalf("column %d is %d", x, r>>8)
		}
	}
}
