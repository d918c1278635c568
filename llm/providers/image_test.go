package providers_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
)

// redSquare returns a picture that every model with image input can describe.
func redSquare() []byte {
	const side = 64
	img := image.NewRGBA(image.Rect(0, 0, side, side))
	for i := range side * side {
		img.Set(i%side, i/side, color.RGBA{R: 220, A: 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil { // cannot happen: a buffer
		return nil
	}
	return b.Bytes()
}
