package picture

import (
	"image"

	"golang.org/x/image/draw"
)

// scaled returns an image whose sides are within the limit. A pixel is the mean of those that it
// covers. Besides the result that takes memory for a few rows; the scalers of package draw take 32
// bytes for each pixel of an image that has the new width and the old height.
func scaled(from image.Image) image.Image {
	b := from.Bounds()
	longest := max(b.Dx(), b.Dy())
	if longest <= maxSide {
		return from
	}
	to := image.NewRGBA(image.Rect(0, 0, max(b.Dx()*maxSide/longest, 1), max(b.Dy()*maxSide/longest, 1)))
	row := image.NewRGBA(image.Rect(0, 0, b.Dx(), 1))
	narrow := make([]uint64, to.Stride) // the sums of a row in the new width
	below := make([]uint64, to.Stride)  // the sums of rows for the next row of the result
	all := uint64(b.Dx()) * uint64(b.Dy())
	height, y := to.Rect.Dy(), 0
	for at := range b.Dy() {
		draw.Draw(row, row.Rect, from, b.Min.Add(image.Pt(0, at)), draw.Src)
		clear(narrow)
		narrowed(narrow, row.Pix, to.Rect.Dx(), b.Dx())
		// Each row covers height parts, and b.Dy() parts are a row of the result.
		inside := min((at+1)*height, (y+1)*b.Dy()) - at*height
		for i, sum := range narrow {
			below[i] += sum * uint64(inside)
		}
		if (at+1)*height < (y+1)*b.Dy() {
			continue
		}
		for i, sum := range below {
			to.Pix[y*to.Stride+i] = uint8((sum + all/2) / all)
			below[i] = narrow[i] * uint64(height-inside)
		}
		y++
	}
	return to
}

// narrowed adds the pixels of a row to the sums of one with fewer: each covers width parts, and
// from parts are a pixel of the result.
func narrowed(sums []uint64, row []uint8, width, from int) {
	x := 0
	for at := range from {
		inside := min((at+1)*width, (x+1)*from) - at*width
		for c := range 4 {
			sums[4*x+c] += uint64(row[4*at+c]) * uint64(inside)
		}
		if (at+1)*width < (x+1)*from {
			continue
		}
		if x++; inside < width {
			for c := range 4 {
				sums[4*x+c] += uint64(row[4*at+c]) * uint64(width-inside)
			}
		}
	}
}
