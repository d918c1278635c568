package picture

import (
	"bytes"
	"encoding/binary"
	"image"

	"golang.org/x/image/draw"
)

// orientation returns the value of a JPEG file's Exif tag of this name, from 1 to 8: how a camera
// was held. It is 1 if there is none.
func orientation(data []byte) int {
	const app1, startOfScan, tag = 0xe1, 0xda, 0x0112
	for at := 2; at+4 <= len(data) && data[at] == 0xff && data[at+1] != startOfScan; {
		end := at + 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		if end > len(data) || end < at+4 {
			return 1
		}
		if tiff, ok := bytes.CutPrefix(data[at+4:end], []byte("Exif\x00\x00")); ok && data[at+1] == app1 {
			return tagOf(tiff, tag)
		}
		at = end
	}
	return 1
}

// tagOf returns the short value of a tag in the first directory of a TIFF file, 1 if there is none.
func tagOf(tiff []byte, tag uint16) int {
	var order binary.ByteOrder = binary.LittleEndian
	if bytes.HasPrefix(tiff, []byte("MM")) {
		order = binary.BigEndian
	}
	if len(tiff) < 8 {
		return 1
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	entries := tiff[at+2:]
	for n := int(order.Uint16(tiff[at:])); n > 0 && len(entries) >= 12; n, entries = n-1, entries[12:] {
		if order.Uint16(entries) == tag {
			if value := int(order.Uint16(entries[8:])); value >= 1 && value <= 8 {
				return value
			}
			return 1
		}
	}
	return 1
}

// turned returns an image as a person would see it, given its orientation.
func turned(from image.Image, orientation int) image.Image {
	if orientation == 1 {
		return from
	}
	b := from.Bounds()
	w, h := b.Dx(), b.Dy()
	to := image.NewNRGBA(image.Rect(0, 0, w, h))
	if orientation >= 5 {
		to = image.NewNRGBA(image.Rect(0, 0, h, w))
	}
	pixels := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.Draw(pixels, pixels.Bounds(), from, b.Min, draw.Src)
	for y := range h {
		for x := range w {
			i, j := x, y
			switch orientation {
			case 2:
				i = w - 1 - x
			case 3:
				i, j = w-1-x, h-1-y
			case 4:
				j = h - 1 - y
			case 5:
				i, j = y, x
			case 6:
				i, j = h-1-y, x
			case 7:
				i, j = h-1-y, w-1-x
			case 8:
				i, j = y, w-1-x
			}
			to.SetNRGBA(i, j, pixels.NRGBAAt(x, y))
		}
	}
	return to
}

// progressive reports whether a JPEG file is one that is drawn in several passes. It finds the
// header of the frame as image/jpeg does, which skips what stands between two segments.
func progressive(data []byte) bool {
	if Type(data) != "image/jpeg" {
		return false
	}
	const baseline, extended, inPasses, restart, lastRestart, startOfScan = 0xc0, 0xc1, 0xc2, 0xd0, 0xd7, 0xda
	for at := 2; at+4 <= len(data); {
		switch marker := data[at+1]; {
		case data[at] != 0xff || marker == 0xff || marker == 0:
			at++
		case marker >= restart && marker <= lastRestart:
			at += 2
		case marker == inPasses:
			return true
		case marker == baseline, marker == extended, marker == startOfScan:
			return false
		default:
			at += 2 + int(binary.BigEndian.Uint16(data[at+2:]))
		}
	}
	return false
}
