package journal

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
)

// A line begins with the checksum of the rest: {"c":"1a2b3c4d","n":17,...}. It comes first so that
// no single flipped bit turns the line into one that needs no checksum.
const (
	sumBegin  = `{"c":"`
	sumEnd    = `",`
	sumDigits = 2 * crc32.Size
	sumLength = len(sumBegin) + sumDigits + len(sumEnd)

	// noSumBegin holds the beginning of a line of version 1, which has no checksum.
	noSumBegin = `{"n":`
)

var (
	errSum   = errors.New("the line is not what was written")
	errNoSum = errors.New("the line has no checksum, and the first line has one")
	errForm  = errors.New("the line has no checksum and does not begin with its number")
)

// sumOf returns the checksum, CRC-32C in hex, of what follows it in a line without the line break.
func sumOf(rest []byte) (sum [sumDigits]byte) {
	var raw [crc32.Size]byte
	hash := crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli)) // the table is made once
	for i := range raw {
		raw[i] = byte(hash >> (24 - 8*i))
	}
	hex.Encode(sum[:], raw[:])
	return sum
}

// putSum writes the checksum into a line that has room for it and no line break yet.
func putSum(line []byte) {
	sum := sumOf(line[sumLength:])
	copy(line[len(sumBegin):], sum[:])
}

// checkSum reports whether a line has a checksum, and returns an error if it is wrong.
func checkSum(line []byte) (has bool, err error) {
	if len(line) < sumLength || !bytes.HasPrefix(line, []byte(sumBegin)) {
		return false, nil
	}
	written := line[len(sumBegin) : sumLength-len(sumEnd)]
	sum := sumOf(bytes.TrimSuffix(line[sumLength:], []byte("\n")))
	if !bytes.Equal(written, sum[:]) || string(line[sumLength-len(sumEnd):sumLength]) != sumEnd {
		return true, wrongSum(string(sum[:]), written)
	}
	return true, nil
}

func wrongSum(sum string, written []byte) error {
	return fmt.Errorf("%w: it has the checksum %s, and says %q", errSum, sum, written)
}
