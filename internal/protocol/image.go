package protocol

import (
	"encoding/base64"
	"errors"
	"path/filepath"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/fault"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool/coding"
)

// ReadImage reads an image file of the user's for a message: PNG, JPEG, GIF or WebP, of at most 32
// MiB.
func ReadImage(name string) (llm.Media, error) {
	data, err := userfiles.Read(name, coding.MaxImage+1)
	if err != nil {
		return llm.Media{}, fault.Errorf(attractor.ErrConfig, "cannot read the image: %w", err)
	}
	return imageOf(texts.Shown(name), filepath.Base(name), data)
}

// decodeImage returns an image that a client has sent in Base64. Its media type has to be that of
// the content; empty means any.
func decodeImage(mediaType, data string) (llm.Media, error) {
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return llm.Media{}, fault.Errorf(attractor.ErrConfig, "the image is not in Base64: %w", err)
	}
	m, err := imageOf("the image", "", content)
	if err == nil && mediaType != "" && mediaType != m.MIME && (mediaType != "image/jpg" || m.MIME != "image/jpeg") {
		return llm.Media{}, fault.Errorf(attractor.ErrConfig,
			"the image is said to be %q, but it is %s; send the right type", mediaType, m.MIME)
	}
	return m, err
}

// imageOf returns an image, or an error that calls it subject.
func imageOf(subject, name string, data []byte) (llm.Media, error) {
	m, err := coding.Image(name, data)
	switch {
	case errors.Is(err, coding.ErrNoImage):
		return m, fault.Errorf(attractor.ErrConfig,
			"%s is %w; convert it to an image first, or let the agent read the file", subject, err)
	case err != nil:
		return m, fault.Errorf(attractor.ErrConfig, "%s is %w; make a smaller copy", subject, err)
	}
	return m, nil
}
