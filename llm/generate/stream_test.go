package generate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/generate"
	"github.com/attractor-go/attractor/llm/llmtest"
)

func TestG9_Stream(t *testing.T) {
	client, _ := served(t, fakellm.Turn{Text: "I look.", Calls: []fakellm.Call{call("Oslo")}},
		fakellm.Turn{Text: "It is sunny in Oslo."})
	s := generate.Stream(t.Context(), client,
		generate.Options{Model: "m", Prompt: "go", Tools: []generate.Tool{weatherTool}})
	var got []string
	var last llm.StreamEvent
	for ev, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		last = ev
		if n := len(got); n == 0 || got[n-1] != ev.Type.String() {
			got = append(got, ev.Type.String())
		}
		if ev.Type == llm.EventStepFinish && ev.Response == nil {
			t.Error("a step without its answer")
		}
	}
	want := strings.Fields("start text_start text_delta text_end call_start call_delta call_end step_finish " +
		"start text_start text_delta text_end step_finish finish")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	res, err := s.Result()
	if err != nil || res.Text() != "It is sunny in Oslo." || len(res.Steps) != 2 || last.Response != res.Response() {
		t.Errorf("%v, %+v", err, res)
	}
	for _, err := range s.Events() {
		if !errors.Is(err, llm.ErrInvalidRequest) {
			t.Errorf("a second time: %v", err)
		}
	}
}

// EventStepFinish comes after the step's tools have run.
func TestG9_StepFinishComesAfterTheTools(t *testing.T) {
	var order []string
	tool := weatherTool
	tool.Execute = func(context.Context, string) (llm.Parts, error) { order = append(order, "ran"); return nil, nil }
	client, _ := scripted(llmtest.Calls(llmtest.Call("weather", cityArgs{City: "x"})), llmtest.Text("ok"))
	for ev, err := range generate.Stream(t.Context(), client, generate.Options{Model: "m", Prompt: "go",
		Tools: []generate.Tool{tool}}).Events() {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == llm.EventCallEnd || ev.Type == llm.EventStepFinish {
			order = append(order, ev.Type.String())
		}
	}
	if diff := cmp.Diff([]string{"call_end", "ran", "step_finish", "step_finish"}, order); diff != "" {
		t.Error(diff)
	}
}

func TestG9_StreamText(t *testing.T) {
	client, _ := scripted(llmtest.Answer(llm.Thinking{Text: "hm"}, llm.Text{Text: "one two"}))
	s := generate.Stream(t.Context(), client, generate.Options{Model: "m", Prompt: "go"})
	var got []string
	for text, err := range s.Text() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{"one ", "two"}, got); diff != "" {
		t.Error(diff)
	}
	if res, err := s.Result(); err != nil || res.Reasoning() != "hm" {
		t.Errorf("%v", err)
	}
}

func TestG9_StreamEndings(t *testing.T) {
	client, _ := scripted(llmtest.Text("one two"), llmtest.Error(llm.Errorf(llm.ErrQuota, "no money")))
	o := generate.Options{Model: "m", Prompt: "go"}
	left := generate.Stream(t.Context(), client, o)
	for ev := range left.Events() {
		if ev.Type == llm.EventTextDelta {
			break
		}
	}
	if res, err := left.Result(); !errors.Is(err, llm.ErrAborted) || res == nil || len(res.Steps) != 0 ||
		res.Text() != "" || res.OpenCalls() != nil {
		t.Errorf("left: %+v, %v", res, err)
	}
	failed := generate.Stream(t.Context(), client, o)
	n := 0
	for _, err := range failed.Text() {
		if n++; !errors.Is(err, llm.ErrQuota) {
			t.Errorf("%v", err)
		}
	}
	if _, err := failed.Result(); n != 1 || !errors.Is(err, llm.ErrQuota) {
		t.Errorf("%d errors, %v", n, err)
	}
}
