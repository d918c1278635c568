package textfile

import (
	"strings"
	"unicode/utf8"
)

// BOM is the byte-order mark that some UTF-8 files begin with.
const BOM = "\uFEFF"

// Encoding says how the bytes of a file stand for characters.
type Encoding uint8

// The encodings, as far as the bytes tell.
const (
	UTF8    Encoding = iota // also ASCII
	Unknown                 // text that is not UTF-8, such as CP932, GBK or ISO-8859-1
	UTF16                   // with its byte-order mark
	Binary                  // no text
)

// Form holds what the text of a file does not show.
type Form struct {
	Encoding Encoding
	BOM      bool // UTF-8 with a byte-order mark

	crlf, lf int // lines with each ending
}

// Of returns the form of a content.
func Of(content string) Form {
	f := Form{BOM: strings.HasPrefix(content, BOM), crlf: strings.Count(content, "\r\n")}
	f.lf = strings.Count(content, "\n") - f.crlf
	switch {
	case strings.HasPrefix(content, "\xff\xfe"), strings.HasPrefix(content, "\xfe\xff"):
		f.Encoding = UTF16
	case strings.IndexByte(content, 0) >= 0:
		f.Encoding = Binary
	case !utf8.ValidString(content):
		f.Encoding = Unknown
	}
	return f
}

// ends names the line ends, or returns "" if there are none.
func (f Form) ends() string {
	switch {
	case f.crlf > 0 && f.lf > 0:
		return "both LF and CRLF"
	case f.crlf > 0:
		return "CRLF"
	case f.lf > 0:
		return "LF"
	}
	return ""
}

// Keep returns the text that replaces a whole content of this form. It gets the content's
// byte-order mark, and its CRLF line ends if most lines have them. kept names what the text lacked,
// and changed is a sentence about line ends that are others now; either may be empty. Content that
// is not text has nothing to keep.
func (f Form) Keep(text string) (fresh, kept, changed string) {
	if f.Encoding == Binary || f.Encoding == UTF16 {
		return text, "", ""
	}
	var what []string
	if f.BOM && !strings.HasPrefix(text, BOM) {
		text = BOM + text
		what = append(what, "byte-order mark")
	}
	given := Of(text)
	if f.crlf > f.lf && given.lf > 0 {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
		what = append(what, "CRLF line ends")
	}
	was, is := f.ends(), Of(text).ends()
	if was != is && was != "" && is != "" {
		changed = "Its line ends were " + was + " and are " + is + " now"
	}
	if given.BOM && !f.BOM {
		changed = strings.TrimPrefix(changed+". It begins with a byte-order mark now", ". ")
	}
	return text, strings.Join(what, " and "), changed
}
