package openai

import (
	"context"
	"encoding/json"
	"path"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

type viewImageArgs struct {
	Path string `json:"path"`
}

const viewImageParameters = `{"type":"object","properties":{
"path":{"type":"string","description":"Path of the image, absolute or relative to the working directory."}
},"required":["path"],"additionalProperties":false}`

// viewImage returns the tool view_image(path): it shows an image file to the model.
func viewImage() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name:        "view_image",
		Description: "Shows you an image file (PNG, JPEG, GIF or WebP).",
		Parameters:  json.RawMessage(viewImageParameters),
	}, func(ctx context.Context, call *tool.Call, args viewImageArgs) (tool.Result, error) {
		return dialect().ReadImage(ctx, call, args.Path)
	})
	return tool.WithAccess(t, func(args viewImageArgs) tool.Access {
		return tool.Access{Effect: tool.ReadOnly, Paths: []string{path.Clean(args.Path)}}
	})
}
