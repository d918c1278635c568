package coding

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/internal/names"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

type viewImageArgs struct {
	Path string `json:"path" jsonschema:"Path of the image, absolute or relative to the working directory."`
}

// ViewImage returns the tool view_image(path) of OpenAI's agent: it shows an image file to the model.
func ViewImage() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name:        "view_image",
		Description: "Shows you an image file (PNG, JPEG, GIF or WebP).",
	}, viewImage)
	return tool.WithAccess(t, func(args viewImageArgs) tool.Access {
		return tool.Access{Effect: tool.ReadOnly, Paths: []string{lexical(args.Path)}}
	})
}

func viewImage(ctx context.Context, call *tool.Call, args viewImageArgs) (result tool.Result, err error) {
	f, err := call.Env.Open(ctx, args.Path)
	if err != nil {
		return result, explainOpen(ctx, call.Env, args.Path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	whole := newReading(f)
	r := bufio.NewReader(whole)
	const longest = 12 // of the beginnings that imageType knows
	start, err := r.Peek(longest)
	if err != nil && !isEOF(err) {
		return result, fmt.Errorf("reading %s: %w", names.Shown(args.Path), err)
	}
	mime := imageType(start)
	if mime == "" {
		return result, fmt.Errorf("%s is no PNG, JPEG, GIF or WebP image; read other files as text, or make an image of them first", names.Shown(args.Path))
	}
	if result, err = readImage(r, mime, args.Path); err == nil {
		result.Seen = whole.saw(ctx, call.Env, args.Path)
	}
	return result, err
}
