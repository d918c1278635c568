package coding

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/attractor-go/attractor/internal/names"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// MaxImage is the largest image, in bytes, that every provider accepts.
const MaxImage = 5 << 20

// The errors of [Image].
var (
	ErrNoImage       = errors.New("not a PNG, JPEG, GIF or WebP image")
	ErrImageTooLarge = errors.New("larger than 5 MiB")
)

// Image returns an image for a model. The content decides what type it has.
func Image(name string, data []byte) (llm.Media, error) {
	mime := imageType(data)
	switch {
	case mime == "":
		return llm.Media{}, ErrNoImage
	case len(data) > MaxImage:
		return llm.Media{}, ErrImageTooLarge
	}
	return llm.Media{MIME: mime, Data: data, Name: name}, nil
}

// imageType returns the media type of an image that models accept by the start of the file, or "".
func imageType(start []byte) string {
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

// isUTF16 reports whether a file starts with a byte order mark of UTF-16.
func isUTF16(start []byte) bool {
	return bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff"))
}

// ReadImage returns an image file as a picture for the model. Other files are an error.
func (d Dialect) ReadImage(ctx context.Context, call *tool.Call, name string) (result tool.Result, err error) {
	f, err := call.Env.Open(ctx, name)
	if err != nil {
		return result, d.explainOpen(ctx, call.Env, name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	whole := newHashingReader(f)
	r := bufio.NewReader(whole)
	const longest = 12 // the longest start that imageType needs
	start, err := r.Peek(longest)
	if err != nil && !isEOF(err) {
		return result, fmt.Errorf("reading %s: %w", names.Shown(name), err)
	}
	if imageType(start) == "" {
		return result, fmt.Errorf("%s is %w; read other files as text, or convert them to an image first", names.Shown(name), ErrNoImage)
	}
	if result, err = d.readImage(r, name); err == nil {
		result.Seen = whole.seen(ctx, call.Env, name)
	}
	return result, err
}

func (d Dialect) readImage(r io.Reader, name string) (tool.Result, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxImage+1))
	if err != nil {
		return tool.Result{}, fmt.Errorf("reading %s: %w", names.Shown(name), err)
	}
	image, err := Image(path.Base(name), data)
	if err != nil {
		return tool.Result{}, fmt.Errorf("the image %s is %w; make a smaller copy with %s, and read that", names.Shown(name), err, d.word("shell"))
	}
	return tool.Result{Content: llm.Parts{llm.Text{Text: fmt.Sprintf("%s (%s, %s)", names.Shown(name), image.MIME, count(len(data), "byte"))}, image}}, nil
}
