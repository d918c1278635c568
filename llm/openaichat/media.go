package openaichat

import (
	"encoding/base64"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// separate appends a comma unless b is empty.
func separate(b []byte) []byte {
	if len(b) > 0 {
		return append(b, ',')
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(api.AppendMember(b, `{"type":"text","text":`, text), '}')
}

// appendMedia adds an image or an audio clip to a list of content parts.
func appendMedia(b []byte, m llm.Media) ([]byte, error) {
	kind, format, _ := strings.Cut(m.MIME, "/")
	switch {
	case kind == "image":
		return appendImage(separate(b), m), nil
	case kind == "audio" && m.URL == "":
		name, ok := audioFormat(format)
		if !ok {
			break
		}
		b = append(separate(b), `{"type":"input_audio","input_audio":{"data":"`...)
		b = base64.StdEncoding.AppendEncode(b, m.Data)
		return append(append(append(b, `","format":"`...), name...), `"}}`...), nil
	}
	return nil, llm.Errorf(llm.ErrUnsupported,
		"media of type %q: Chat Completions takes images and, as data, audio of the types wav, mp3, flac, ogg, "+
			"aac and m4a", m.MIME)
}

func appendImage(b []byte, m llm.Media) []byte {
	b = append(b, `{"type":"image_url","image_url":{"url":`...)
	if m.URL != "" {
		b = api.AppendString(b, m.URL)
	} else {
		b = api.AppendString(b, "data:"+m.MIME+";base64,")
		b = base64.StdEncoding.AppendEncode(b[:len(b)-1], m.Data) // the quote comes after it
		b = append(b, '"')
	}
	if m.Detail != "" {
		b = api.AppendMember(b, `,"detail":`, m.Detail)
	}
	return append(b, `}}`...)
}

// audioFormat returns the API's name for the subtype of an audio type.
func audioFormat(subtype string) (name string, ok bool) {
	switch subtype {
	case "wav", "x-wav", "wave", "vnd.wave":
		return "wav", true
	case "mpeg", "mp3":
		return "mp3", true
	case "flac", "ogg", "aac":
		return subtype, true
	case "mp4", "m4a", "x-m4a":
		return "m4a", true
	}
	return "", false
}
