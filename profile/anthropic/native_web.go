package anthropic

import (
	"encoding/json"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

const webFetchParameters = `{
	"type": "object",
	"properties": {
		"url": {"type": "string", "format": "uri", "description": "The page's address, with http:// or https://."},
		"prompt": {"type": "string", "description": "What you are looking for on the page. It is repeated in front of the page's text."}
	},
	"required": ["url", "prompt"],
	"additionalProperties": false
}`

// NativeWebFetch returns the tool WebFetch of the native dialect. Its calls are those of a tool
// that takes a url and a prompt, such as the one of package tool/webfetch. The profile does not
// have it, because a host decides whether its models may read the web.
func NativeWebFetch(base tool.Tool) tool.Tool {
	t := tool.Adapt[json.RawMessage](base, llm.ToolDefinition{
		Name: "WebFetch",
		Description: "Fetches a public web page and returns its text, with HTML as Markdown. It sends no cookies and " +
			"no keys. A redirect to another host is reported and not followed: call the tool again with that URL.",
		Parameters: json.RawMessage(webFetchParameters),
	}, nil, nil)
	t.Instead = []tool.Instead{{Of: []string{"web_fetch", "fetch", "fetch_url", "read_url", "browse", "open_url"}}}
	return t
}
