package picture

import "encoding/binary"

// pixelsOf returns a PNG file with only the chunks of its pixels, for a decoder that stops at a
// fault in any other. Those that it needs have names that begin with a capital letter; tRNS has the
// transparent colours.
func pixelsOf(data []byte) []byte {
	const signature, around = 8, 12 // bytes of the length, the name and the checksum of a chunk
	kept := append([]byte(nil), data[:min(signature, len(data))]...)
	for at := signature; at+around <= len(data); {
		size := around + int64(binary.BigEndian.Uint32(data[at:]))
		if int64(at)+size > int64(len(data)) {
			return append(kept, data[at:]...) // cut off
		}
		chunk := data[at : int64(at)+size]
		if name := string(chunk[4:8]); name[0] >= 'A' && name[0] <= 'Z' || name == "tRNS" {
			kept = append(kept, chunk...)
		}
		at += len(chunk)
	}
	return kept
}
