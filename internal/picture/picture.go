package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // decodes
	"image/jpeg"
	"image/png"
	"sync"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // decodes
)

// MaxFile is the largest file that is read, in bytes.
const MaxFile = 32 << 20

const (
	// maxPixels bounds the memory for decoding, which takes 4 bytes a pixel. Of images with 16 bits
	// a colour, and of progressive JPEG files, it is half as many.
	maxPixels = 50_000_000
	// maxSide is Anthropic's limit, in pixels, for requests with more than 20 images. A picture
	// that is within it at once never has to be changed later.
	maxSide = 2000
	// maxBytes is Anthropic's limit, the smallest of all: 5 MiB in Base64.
	maxBytes = 5 << 20 / 4 * 3
)

// The errors of [Fit].
var (
	ErrNoImage  = errors.New("not a PNG, JPEG, GIF or WebP image")
	ErrTooLarge = fmt.Errorf("larger than %d MiB or %d megapixels", MaxFile>>20, maxPixels/1_000_000)
	ErrDamaged  = errors.New("a damaged image, which cannot be decoded")
)

// A Picture is an image that every vendor takes.
type Picture struct {
	MIME string
	Data []byte
	// Width and Height are its sides in pixels, FromWidth and FromHeight those of the image that it
	// was made of.
	Width, Height, FromWidth, FromHeight int
}

// Scaled returns a sentence with both sizes, empty if the picture has its own.
func (p *Picture) Scaled() string {
	if p.Width == p.FromWidth && p.Height == p.FromHeight {
		return ""
	}
	return fmt.Sprintf(
		"The image has %d x %d pixels and is shown scaled down to %d x %d.",
		p.FromWidth,
		p.FromHeight,
		p.Width,
		p.Height,
	)
}

// Type returns the media type of an image by the start of its file, empty if it is none that models
// take.
func Type(start []byte) string {
	switch {
	case bytes.HasPrefix(start, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(start, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(start, []byte("GIF87a")), bytes.HasPrefix(start, []byte("GIF89a")):
		return "image/gif"
	case len(start) >= 12 && string(start[:4]) == "RIFF" && string(start[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// Fit returns an image as every vendor takes it: unchanged if it is within the limits, else scaled
// down or encoded anew. Of an animation it is the first frame. Pixels are decoded only if the
// header says that they are few enough. The error is one of this package's.
func Fit(data []byte) (*Picture, error) {
	mime := Type(data)
	switch {
	case mime == "":
		return nil, ErrNoImage
	case len(data) > MaxFile:
		return nil, ErrTooLarge
	}
	head, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil && mime == "image/png" {
		head, _, err = image.DecodeConfig(bytes.NewReader(pixelsOf(data)))
	}
	switch {
	case err != nil || head.Width <= 0 || head.Height <= 0:
		return nil, ErrDamaged
	case head.Width > maxPixels/head.Height/depth(head.ColorModel, data):
		return nil, ErrTooLarge
	}
	decoding.Lock()
	defer decoding.Unlock()
	whole, _, err := image.Decode(bytes.NewReader(data))
	mended := false
	if err != nil && mime == "image/png" { // a wrong checksum of a colour profile is no reason
		whole, _, err = image.Decode(bytes.NewReader(pixelsOf(data)))
		mended = true
	}
	if err != nil {
		return nil, ErrDamaged
	}
	size := whole.Bounds().Size()
	p := &Picture{MIME: mime, Data: data, Width: size.X, Height: size.Y, FromWidth: size.X, FromHeight: size.Y}
	if mime != "image/gif" && !mended && size.X <= maxSide && size.Y <= maxSide && len(data) <= maxBytes {
		return p, nil // Gemini takes no GIF
	}
	turn := 1
	if mime == "image/jpeg" {
		turn = orientation(data)
	}
	return p, p.encode(turned(scaled(whole), turn), mime)
}

// decoding lets one image be decoded and scaled at a time: a large one takes 200 to 400 MB.
var decoding sync.Mutex

// depth returns how much memory decoding takes for a pixel, as a multiple of the usual.
func depth(m color.Model, data []byte) int {
	// The decoder keeps 4 bytes for each sample of a progressive JPEG file.
	if m == color.RGBA64Model || m == color.NRGBA64Model || progressive(data) {
		return 2
	}
	return 1
}

// encode sets the data of the picture to an image: as PNG, which keeps texts sharp, unless it was a
// photo or that is too long.
func (p *Picture) encode(img image.Image, from string) error {
	size := img.Bounds().Size()
	if p.Width, p.Height = size.X, size.Y; (size.X > size.Y) != (p.FromWidth > p.FromHeight) {
		p.FromWidth, p.FromHeight = p.FromHeight, p.FromWidth // it was turned
	}
	var b bytes.Buffer
	if from != "image/jpeg" {
		if err := png.Encode(&b, img); err == nil && b.Len() <= maxBytes {
			p.MIME, p.Data = "image/png", b.Bytes()
			return nil
		}
	}
	opaque := image.NewRGBA(image.Rectangle{Max: size})
	draw.Draw(opaque, opaque.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(opaque, opaque.Bounds(), img, img.Bounds().Min, draw.Over)
	for _, quality := range []int{85, 60, 30} {
		b.Reset()
		if err := jpeg.Encode(&b, opaque, &jpeg.Options{Quality: quality}); err != nil {
			return ErrDamaged
		}
		if b.Len() <= maxBytes {
			p.MIME, p.Data = "image/jpeg", b.Bytes()
			return nil
		}
	}
	return ErrTooLarge
}
