// Command loop is the smallest agent: net/http, encoding/json, a bash tool and a loop, over
// Anthropic's Messages API with streaming. It has no journal, no limits and no checks.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

type event struct {
	Type         string `json:"type"`
	ContentBlock block  `json:"content_block"`
	Delta        struct {
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
	} `json:"delta"`
}

var tools = json.RawMessage(
	`[{"name":"bash","description":"Runs a command.","input_schema":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}]`)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "loop:", err)
		os.Exit(1)
	}
}

func run(url, task string) error {
	history := []message{{"user", []block{{Type: "text", Text: task}}}}
	for {
		answer, err := ask(url, history)
		if err != nil {
			return err
		}
		results := message{Role: "user"}
		for _, b := range answer.Content {
			if b.Type == "tool_use" {
				results.Content = append(results.Content, call(b))
			}
		}
		if len(results.Content) == 0 {
			return nil
		}
		history = append(history, answer, results)
	}
}

// call runs a tool call and returns its result.
func call(b block) block {
	var args struct {
		Command string `json:"command"`
	}
	result := block{Type: "tool_result", ToolUseID: b.ID}
	if err := json.Unmarshal(b.Input, &args); err != nil {
		result.Content = err.Error()
		return result
	}
	out, err := exec.Command("bash", "-c", args.Command).CombinedOutput()
	result.Content = string(out)
	if err != nil {
		result.Content += err.Error()
	}
	return result
}

// ask sends the history and prints the answer's text as it arrives.
func ask(url string, history []message) (message, error) {
	body, err := json.Marshal(map[string]any{"model": "claude-sonnet-5-5", "max_tokens": 1000, "stream": true,
		"tools": tools, "messages": history})
	if err != nil {
		return message{}, err
	}
	req, err := http.NewRequest("POST", url+"/v1/messages", bytes.NewReader(body))
	if err != nil {
		return message{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", "k")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return message{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return message{}, fmt.Errorf("status %s", resp.Status)
	}
	answer := message{Role: "assistant"}
	var input strings.Builder
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return message{}, err
		}
		if e.Type == "message_stop" {
			return answer, nil
		}
		answer.Content = add(answer.Content, e, &input)
	}
	return message{}, fmt.Errorf("the stream broke off")
}

// add adds an event to the blocks of an answer.
func add(blocks []block, e event, input *strings.Builder) []block {
	switch e.Type {
	case "content_block_start":
		input.Reset()
		return append(blocks, e.ContentBlock)
	case "content_block_delta":
		fmt.Print(e.Delta.Text)
		blocks[len(blocks)-1].Text += e.Delta.Text
		input.WriteString(e.Delta.PartialJSON)
	case "content_block_stop":
		if last := &blocks[len(blocks)-1]; last.Type == "tool_use" {
			last.Input = json.RawMessage(input.String())
		}
	}
	return blocks
}
