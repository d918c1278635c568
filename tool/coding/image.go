package coding

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"

	"github.com/attractor-go/attractor/internal/picture"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// MaxImage is the largest image file, in bytes.
const MaxImage = picture.MaxFile

// ErrNoImage is the error of [Image] for data of another kind.
var ErrNoImage = picture.ErrNoImage

// Image returns an image for a model. The type is that of the content, which has to be whole. A
// session scales it down to what every vendor takes.
func Image(name string, data []byte) (llm.Media, error) {
	if _, err := picture.Fit(data); err != nil {
		return llm.Media{}, err
	}
	return llm.Media{MIME: picture.Type(data), Data: data, Name: name}, nil
}

// isUTF16 reports whether a file starts with a byte order mark of UTF-16.
func isUTF16(start []byte) bool {
	return bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff"))
}

// ReadImage returns an image file as a picture for the model. Other files are an error.
func (d Dialect) ReadImage(ctx context.Context, call *tool.Call, name string) (tool.Result, error) {
	name = call.Named(name)
	return d.open(ctx, call.Env, name, func(r *bufio.Reader) (tool.Result, error) {
		start, err := r.Peek(binaryPeek)
		switch {
		case err != nil && !isEOF(err):
			return tool.Result{}, fmt.Errorf("reading %s: %w", texts.Shown(name), err)
		case picture.Type(start) == "":
			return tool.Result{}, fmt.Errorf("%s is %w; read other files as text, or convert them to an image first",
				texts.Shown(name), ErrNoImage)
		}
		return d.readImage(r, name)
	})
}

func (d Dialect) readImage(r io.Reader, name string) (tool.Result, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxImage+1))
	if err != nil {
		return tool.Result{}, fmt.Errorf("reading %s: %w", texts.Shown(name), err)
	}
	image, err := Image(path.Base(name), data)
	if err != nil {
		return tool.Result{}, fmt.Errorf("the image %s is %w; make a smaller copy with %s, and read that",
			texts.Shown(name), err, d.word("shell"))
	}
	return tool.Result{Content: llm.Parts{llm.Text{Text: fmt.Sprintf("%s (%s, %s)", texts.Shown(name), image.MIME,
		texts.Count(len(data), "byte"))}, image}}, nil
}
