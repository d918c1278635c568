package oracle

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"

	anthropic "github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
)

// reading fills the SDK's types. Unknown returns what they cannot hold, and send sends the rest
// with the SDK.
type reading func(client *http.Client, model string, body []byte) (send func() error, unknown []json.RawMessage,
	err error)

func readMessageParams(client *http.Client, _ string, body []byte) (func() error, []json.RawMessage, error) {
	var params anthropic.MessageNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		return nil, nil, err
	}
	sdk := messagesClient(client)
	return func() error { return sdk.Messages.NewStreaming(context.Background(), params).Err() },
		unknownValues(reflect.ValueOf(params)), nil
}

func readResponseParams(client *http.Client, _ string, body []byte) (func() error, []json.RawMessage, error) {
	var params responses.ResponseNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		return nil, nil, err
	}
	// The SDK reads a choice into the first of its types that has a type, and loses the rest. This
	// reads it into the right one.
	var w struct {
		Choice json.RawMessage `json:"tool_choice"`
	}
	function, custom := new(responses.ToolChoiceFunctionParam), new(responses.ToolChoiceCustomParam)
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, nil, err
	}
	switch {
	case bytes.Contains(w.Choice, []byte(`{"type":"function"`)):
		params.ToolChoice = responses.ResponseNewParamsToolChoiceUnion{OfFunctionTool: function}
		if err := json.Unmarshal(w.Choice, function); err != nil {
			return nil, nil, err
		}
	case bytes.Contains(w.Choice, []byte(`{"type":"custom"`)):
		params.ToolChoice = responses.ResponseNewParamsToolChoiceUnion{OfCustomTool: custom}
		if err := json.Unmarshal(w.Choice, custom); err != nil {
			return nil, nil, err
		}
	}
	sdk := openaiClient(client)
	return func() error { return sdk.Responses.NewStreaming(context.Background(), params).Err() },
		unknownValues(reflect.ValueOf(params)), nil
}

func readChatParams(client *http.Client, _ string, body []byte) (func() error, []json.RawMessage, error) {
	var params openai.ChatCompletionNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		return nil, nil, err
	}
	var w struct { // as above: only one type of a choice is used
		Choice json.RawMessage `json:"tool_choice"`
	}
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, nil, err
	}
	if bytes.HasPrefix(w.Choice, []byte("{")) {
		named := new(openai.ChatCompletionNamedToolChoiceParam)
		params.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{OfFunctionToolChoice: named}
		if err := json.Unmarshal(w.Choice, named); err != nil {
			return nil, nil, err
		}
	}
	sdk := openaiClient(client)
	return func() error { return sdk.Chat.Completions.NewStreaming(context.Background(), params).Err() },
		unknownValues(reflect.ValueOf(params)), nil
}

// dummySignature is sent in place of a missing signature. Go cannot decode it as base64, although
// it is sent unchanged. Users of this SDK must pass its bytes, which are then sent as base64.
const dummySignature = "skip_thought_signature_validator"

var dummyInBase64 = base64.StdEncoding.EncodeToString([]byte(dummySignature))

// readGeminiParams assembles the request from the SDK's types as its users do, because there is no
// type for the whole.
func readGeminiParams(client *http.Client, model string, body []byte) (func() error, []json.RawMessage, error) {
	body = bytes.ReplaceAll(body, []byte(dummySignature), []byte(dummyInBase64))
	var w struct {
		Contents         []*genai.Content
		GenerationConfig json.RawMessage
	}
	var config genai.GenerateContentConfig
	// The rest of the body, such as systemInstruction and tools, belongs to the config.
	if err := errors.Join(json.Unmarshal(body, &w), json.Unmarshal(body, &config)); err != nil {
		return nil, nil, err
	}
	if w.GenerationConfig != nil {
		if err := json.Unmarshal(w.GenerationConfig, &config); err != nil {
			return nil, nil, err
		}
	}
	sdk, err := geminiClient(client)
	return func() error {
		for _, err := range sdk.Models.GenerateContentStream(context.Background(), model, w.Contents, &config) {
			return err
		}
		return nil
	}, nil, err
}
