package llm

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// MaxFile is the size of the largest file that [FilePart] accepts, in bytes. The vendors' own
// limits are lower for some types.
const MaxFile = 32 << 20

// FilePart returns a local image, document or audio clip as a part of a message. The content
// decides the type, not the name: png, jpeg, gif, webp, heic and heif images; pdf, Word, Excel and
// PowerPoint documents; text in UTF-8; wav, mp3, flac and ogg audio. Not every model accepts all of
// them. A type that no provider accepts is an [ErrUnsupported]. A file that cannot be read, is
// empty or is larger than [MaxFile] is an [ErrInvalidRequest].
func FilePart(path string) (Media, error) {
	data, err := readFile(path)
	if err != nil {
		return Media{}, err
	}
	mime, refusal := sniff(data)
	if refusal != "" {
		return Media{}, Errorf(ErrUnsupported, "%q is %s", path, refusal)
	}
	m := Media{MIME: mime, Data: data}
	if !strings.HasPrefix(mime, "image/") {
		m.Name = strings.ToValidUTF8(filepath.Base(path), "\uFFFD")
	}
	return m, nil
}

func readFile(path string) (data []byte, err error) {
	// Only regular files are opened: opening a pipe would wait for its writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, Errorf(ErrInvalidRequest, "%q is a %s, not a file", path, kindOfFile(info.Mode()))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, MaxFile+1))
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case len(data) == 0:
		return nil, Errorf(ErrInvalidRequest, "%q is empty", path)
	case len(data) > MaxFile:
		return nil, Errorf(ErrInvalidRequest,
			"%q is larger than %d MiB: make it smaller, or send its text or a part of it", path, MaxFile>>20)
	}
	return data, nil
}

func unreadable(path string, err error) *Error {
	var pe *os.PathError
	if errors.As(err, &pe) { // our message names the path itself
		err = pe.Err
	}
	e := Errorf(ErrInvalidRequest, "%q cannot be read: %v", path, err)
	e.Err = err
	return e
}

func kindOfFile(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode&os.ModeNamedPipe != 0:
		return "pipe"
	case mode&os.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// magic maps the first bytes of a file to its type.
var magic = [...]struct{ begin, mime string }{
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
	{"%PDF-", "application/pdf"},
	{"ID3", "audio/mpeg"},
	{"\xff\xfb", "audio/mpeg"},
	{"\xff\xf3", "audio/mpeg"},
	{"fLaC", "audio/flac"},
	{"OggS", "audio/ogg"},
}

// inside maps the marks of types that begin with a length: RIFF with the form, ftyp with the brand.
var inside = map[string]string{
	"RIFF WEBP": "image/webp",
	"RIFF WAVE": "audio/wav",
	"ftypheic":  "image/heic", "ftypheix": "image/heic", "ftypheim": "image/heic", "ftypheis": "image/heic",
	"ftypmif1": "image/heif", "ftypmsf1": "image/heif",
}

const convert = "which no model takes: convert it to png, jpeg or webp"

// strangers maps the first bytes of files that no provider accepts to what the user can do.
var strangers = [...]struct{ begin, refusal string }{
	{"BM", "a bmp image, " + convert},
	{"II*\x00", "a tiff image, " + convert},
	{"MM\x00*", "a tiff image, " + convert},
	{"\x00\x00\x01\x00", "an icon, " + convert},
	{"8BPS", "a Photoshop image, " + convert},
	{"\x1f\x8b", "compressed: unpack it and send what is in it"},
	{"7z\xbc\xaf\x27\x1c", "an archive: unpack it and send what is in it"},
	{"\xd0\xcf\x11\xe0", "an Office document of the old form: save it as docx, xlsx or pptx, or as pdf"},
	{"\xff\xfe", "text in UTF-16: convert it to UTF-8"},
	{"\xfe\xff", "text in UTF-16: convert it to UTF-8"},
}

// sniff returns the media type of a file's content, or why it cannot be sent.
func sniff(data []byte) (mime, refusal string) {
	for _, m := range magic {
		if bytes.HasPrefix(data, []byte(m.begin)) {
			return m.mime, ""
		}
	}
	if len(data) >= 12 {
		if mime, ok := inside[string(data[:4])+" "+string(data[8:12])]; ok {
			return mime, ""
		}
		if mime, ok := inside[string(data[4:12])]; ok {
			return mime, ""
		}
		if string(data[4:12]) == "ftypavif" {
			return "", "an avif image, " + convert
		}
	}
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		return office(data)
	}
	if text := strings.TrimPrefix(string(data), "\uFEFF"); isText(text) {
		if isSVG(text) {
			return "", "an svg drawing, " + convert
		}
		return "text/plain", ""
	}
	for _, s := range strangers {
		if bytes.HasPrefix(data, []byte(s.begin)) {
			return "", s.refusal
		}
	}
	return "", fmt.Sprintf("of a type that no model takes, it begins with % x: send an image, a pdf document or text",
		data[:min(len(data), 8)])
}

// isSVG reports whether the first element of a text is svg. A page or a program that contains a
// drawing is text.
func isSVG(text string) bool {
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		end := ">"
		switch {
		case strings.HasPrefix(text, "<!--"):
			end = "-->"
		case strings.HasPrefix(text, "<?"):
		case strings.HasPrefix(text, "<!"):
			if head, _, _ := strings.Cut(text, ">"); strings.Contains(head, "[") { // a document type with definitions
				end = "]>"
			}
		default:
			name, ok := strings.CutPrefix(text, "<svg")
			return ok && strings.IndexAny(name, " \t\r\n/>") == 0
		}
		_, rest, found := strings.Cut(text, end)
		if !found {
			return false
		}
		text = rest
	}
}

// isText reports whether text is UTF-8 without the control characters that text files do not have.
func isText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && !strings.ContainsRune("\t\n\r\f\v\b\x1b", r) || r == 0x7f
	})
}

// office returns the type of an Office document, which is a zip archive, by the directories in it.
func office(data []byte) (mime, refusal string) {
	const of = "application/vnd.openxmlformats-officedocument."
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", "a broken zip archive: " + err.Error()
	}
	for _, f := range archive.File {
		switch dir, _, _ := strings.Cut(f.Name, "/"); dir {
		case "word":
			return of + "wordprocessingml.document", ""
		case "xl":
			return of + "spreadsheetml.sheet", ""
		case "ppt":
			return of + "presentationml.presentation", ""
		}
	}
	return "", "a zip archive: unpack it and send what is in it"
}
