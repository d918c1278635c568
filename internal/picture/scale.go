package picture

import (
	"image"

	"golang.org/x/image/draw"
	"golang.org/x/image/math/f64"
)

// scaled returns an image whose sides are within the limit. A pixel is the mean of those that it
// covers. It transforms the image, which takes no memory besides the result; to scale it would take
// 32 bytes for each pixel of an image that has the new width and the old height.
func scaled(from image.Image) image.Image {
	b := from.Bounds()
	longest := max(b.Dx(), b.Dy())
	if longest <= maxSide {
		return from
	}
	to := image.NewRGBA(image.Rect(0, 0, max(b.Dx()*maxSide/longest, 1), max(b.Dy()*maxSide/longest, 1)))
	x, y := float64(to.Rect.Dx())/float64(b.Dx()), float64(to.Rect.Dy())/float64(b.Dy())
	mean := draw.Kernel{Support: 0.5, At: func(float64) float64 { return 1 }}
	mean.Transform(to, f64.Aff3{x, 0, -x * float64(b.Min.X), 0, y, -y * float64(b.Min.Y)}, from, b, draw.Src, nil)
	return to
}
