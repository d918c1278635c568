package otel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/otel"
	"github.com/attractor-go/attractor/otel/internal/receiver"
)

// points returns the points of a metric, each as its attributes without ports, with the number of
// values.
func points(m *metricspb.Metric) (list []string) {
	add := func(attrs map[string]string, n any) {
		delete(attrs, "server.port")
		list = append(list, fmt.Sprint(n, " ", attrs))
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		add(receiver.Attributes(p.Attributes), p.Count)
	}
	for _, p := range m.GetSum().GetDataPoints() {
		add(receiver.Attributes(p.Attributes), p.GetAsInt())
	}
	slices.Sort(list)
	return list
}

func measured(t *testing.T, o otel.Options) map[string]*metricspb.Metric {
	l := newLab(t, fakellm.Options{Faults: map[int]fakellm.Fault{2: {Kind: fakellm.FaultStatus, Status: 529}}},
		fakellm.Turn{Calls: []fakellm.Call{use("c1", "shell", object{"command": "true"}),
			use("c2", "shell", object{"command": "exit 1"}), use("c3", "never_heard_of", object{})}},
		fakellm.Turn{Text: "Done."})
	l.submit(o)
	return l.receiver.Metrics()
}

func TestN6_Metrics(t *testing.T) {
	got := measured(t, otel.Options{})
	call := "gen_ai.operation.name:chat gen_ai.provider.name:anthropic gen_ai.request.model:" + model +
		" gen_ai.response.model:" + model
	for name, want := range map[string][]string{
		genaiconv.ClientTokenUsage{}.Name(): {"2 map[" + call + " gen_ai.token.type:input server.address:127.0.0.1]",
			"2 map[" + call + " gen_ai.token.type:output server.address:127.0.0.1]"},
		genaiconv.ClientOperationDuration{}.Name():         {"2 map[" + call + " server.address:127.0.0.1]"},
		genaiconv.ClientOperationTimeToFirstChunk{}.Name(): {"2 map[" + call + "]"},
		"attractor.model.retries": {"1 map[error.type:overloaded gen_ai.operation.name:chat " +
			"gen_ai.provider.name:anthropic gen_ai.request.model:" + model + "]"},
		"attractor.execute_tool.duration": {"1 map[error.type:refused gen_ai.operation.name:execute_tool " +
			"gen_ai.tool.name:_OTHER]",
			"1 map[error.type:tool_error gen_ai.operation.name:execute_tool gen_ai.tool.name:shell]",
			"1 map[gen_ai.operation.name:execute_tool gen_ai.tool.name:shell]"},
		"attractor.invoke_agent.duration": {"1 map[attractor.reason:completed attractor.subagent:false " +
			"gen_ai.operation.name:invoke_agent]"},
	} {
		if got[name] == nil {
			t.Errorf("there is no %s", name)
		} else if list := points(got[name]); !slices.Equal(list, want) {
			t.Errorf("%s:\n%q, want\n%q", name, list, want)
		}
	}
	if cost := got["attractor.cost"].GetSum().GetDataPoints(); len(cost) != 1 || cost[0].GetAsDouble() <= 0 {
		t.Errorf("the cost is %v", cost)
	}
	if unit := got[genaiconv.ClientTokenUsage{}.Name()].Unit; unit != (genaiconv.ClientTokenUsage{}).Unit() {
		t.Errorf("the unit of tokens is %q", unit)
	}
}

// The newest conventions have other names for metrics.
func TestN6_NewestConventions(t *testing.T) {
	got := measured(t, otel.Options{Conventions: otel.ConventionsGenAI0_1})
	var names []string
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{"attractor.cost", "attractor.model.retries", "gen_ai.client.inference.duration",
		"gen_ai.client.inference.time_to_first_chunk",
		"gen_ai.client.inference.usage.cache_read.input_tokens",
		"gen_ai.client.inference.usage.cache_write.input_tokens",
		"gen_ai.client.inference.usage.input_tokens", "gen_ai.client.inference.usage.output_tokens",
		"gen_ai.execute_tool.duration", "gen_ai.invoke_agent.duration"}
	if !slices.Equal(names, want) {
		t.Errorf("the metrics are %q", names)
	}
}

// All attributes are those of the conventions, or begin with the name of this project.
func TestN6_NamesOfTheConventions(t *testing.T) {
	known := map[string]bool{"mcp.method.name": true}
	for _, key := range []attribute.Key{semconv.GenAIOperationNameKey, semconv.GenAIProviderNameKey,
		semconv.GenAIAgentNameKey, semconv.GenAIAgentIDKey,
		semconv.GenAIConversationIDKey, semconv.GenAIRequestModelKey, semconv.GenAIRequestStreamKey,
		semconv.GenAIRequestMaxTokensKey,
		semconv.GenAIResponseIDKey, semconv.GenAIResponseModelKey, semconv.GenAIResponseFinishReasonsKey,
		semconv.GenAIResponseTimeToFirstChunkKey,
		semconv.GenAIUsageInputTokensKey, semconv.GenAIUsageOutputTokensKey, semconv.GenAIUsageCacheReadInputTokensKey,
		semconv.GenAIUsageCacheCreationInputTokensKey, semconv.GenAIUsageReasoningOutputTokensKey,
		semconv.GenAIToolNameKey, semconv.GenAIToolCallIDKey,
		semconv.GenAIToolTypeKey, semconv.GenAIToolCallArgumentsKey, semconv.GenAIToolCallResultKey,
		semconv.GenAISystemInstructionsKey,
		semconv.GenAIInputMessagesKey, semconv.GenAIOutputMessagesKey, semconv.ErrorTypeKey, semconv.ServerAddressKey,
		semconv.ServerPortKey,
		semconv.ProcessExitCodeKey, semconv.HTTPResponseStatusCodeKey} {
		known[string(key)] = true
	}
	l, _ := secretive(t, otel.Options{Content: true})
	seen := 0
	check := func(attrs map[string]string) {
		for key := range attrs {
			if seen++; !known[key] && !strings.HasPrefix(key, "attractor.") {
				t.Errorf("%s is not an attribute of the conventions", key)
			}
		}
	}
	for _, s := range l.receiver.Spans() {
		check(receiver.Attributes(s.Attributes))
		for _, e := range s.Events {
			check(receiver.Attributes(e.Attributes))
		}
	}
	if seen < 50 {
		t.Errorf("only %d attributes were checked", seen)
	}
}
