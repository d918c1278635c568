package otel

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/attractor-go/attractor/llm"
)

// Conventions names a version of the semantic conventions for generative AI. All versions so far
// are in development, and each renames something.
type Conventions string

// The versions that this package can follow.
const (
	// Conventions1_41 is the last version in the main repository of the conventions, which most
	// receivers understand. It is the default.
	Conventions1_41 Conventions = "1.41.0"
	// ConventionsGenAI0_1 is the first version of the conventions' own repository,
	// semantic-conventions-genai.
	ConventionsGenAI0_1 Conventions = "genai/0.1.0"
)

// The names that are the same in all versions.
const (
	opChat        = "chat"
	opInvokeAgent = "invoke_agent"
	opExecuteTool = "execute_tool"

	keyOperation       = attribute.Key("gen_ai.operation.name")
	keyProvider        = attribute.Key("gen_ai.provider.name")
	keyAgentName       = attribute.Key("gen_ai.agent.name")
	keyConversation    = attribute.Key("gen_ai.conversation.id")
	keyOutputType      = attribute.Key("gen_ai.output.type")
	keyRequestModel    = attribute.Key("gen_ai.request.model")
	keyRequestStream   = attribute.Key("gen_ai.request.stream")
	keyRequestMax      = attribute.Key("gen_ai.request.max_tokens")
	keyTemperature     = attribute.Key("gen_ai.request.temperature")
	keyTopP            = attribute.Key("gen_ai.request.top_p")
	keyStop            = attribute.Key("gen_ai.request.stop_sequences")
	keyResponseID      = attribute.Key("gen_ai.response.id")
	keyResponseModel   = attribute.Key("gen_ai.response.model")
	keyFinishReasons   = attribute.Key("gen_ai.response.finish_reasons")
	keyFirstChunk      = attribute.Key("gen_ai.response.time_to_first_chunk")
	keyInputTokens     = attribute.Key("gen_ai.usage.input_tokens")
	keyOutputTokens    = attribute.Key("gen_ai.usage.output_tokens")
	keyCacheRead       = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyReasoningTokens = attribute.Key("gen_ai.usage.reasoning.output_tokens")
	keyTokenType       = attribute.Key("gen_ai.token.type")
	keyToolName        = attribute.Key("gen_ai.tool.name")
	keyToolCall        = attribute.Key("gen_ai.tool.call.id")
	keyToolType        = attribute.Key("gen_ai.tool.type")
	keyToolArguments   = attribute.Key("gen_ai.tool.call.arguments")
	keyToolResult      = attribute.Key("gen_ai.tool.call.result")
	keySystem          = attribute.Key("gen_ai.system_instructions")
	keyInputMessages   = attribute.Key("gen_ai.input.messages")
	keyOutputMessages  = attribute.Key("gen_ai.output.messages")

	keyErrorType     = attribute.Key("error.type")
	keyServerAddress = attribute.Key("server.address")
	keyServerPort    = attribute.Key("server.port")
	keyStatus        = attribute.Key("http.response.status_code")
	keyExitCode      = attribute.Key("process.exit.code")
	keyMCPMethod     = attribute.Key("mcp.method.name")
)

// The names of this package's own attributes and events.
const (
	keySession    = attribute.Key("attractor.session.id")
	keyParent     = attribute.Key("attractor.session.parent_id")
	keyResumed    = attribute.Key("attractor.session.resumed")
	keyAgent      = attribute.Key("attractor.agent.id")
	keyReason     = attribute.Key("attractor.reason")
	keyTurns      = attribute.Key("attractor.turns")
	keyRounds     = attribute.Key("attractor.tool_rounds")
	keyCost       = attribute.Key("attractor.cost_usd")
	keyStep       = attribute.Key("attractor.step")
	keyPurpose    = attribute.Key("attractor.purpose")
	keyAttempt    = attribute.Key("attractor.attempt")
	keyAttempts   = attribute.Key("attractor.attempts")
	keyDelay      = attribute.Key("attractor.delay_ms")
	keyDiscarded  = attribute.Key("attractor.text_discarded")
	keyCode       = attribute.Key("attractor.code")
	keyKind       = attribute.Key("attractor.kind")
	keyMode       = attribute.Key("attractor.mode")
	keyFrom       = attribute.Key("attractor.model.from")
	keyTo         = attribute.Key("attractor.model.to")
	keyBefore     = attribute.Key("attractor.tokens.before")
	keyAfter      = attribute.Key("attractor.tokens.after")
	keyReplaced   = attribute.Key("attractor.turns.replaced")
	keyRatio      = attribute.Key("attractor.context.ratio")
	keyDecision   = attribute.Key("attractor.decision")
	keyRefused    = attribute.Key("attractor.tool.refused")
	keyNotBegun   = attribute.Key("attractor.tool.not_begun")
	keyChanges    = attribute.Key("attractor.tool.changed_files")
	keySubagent   = attribute.Key("attractor.subagent")
	eventRetry    = "attractor.retry"
	eventFault    = "attractor.attempt_failed"
	eventSteering = "attractor.steering"
	eventCompact  = "attractor.compaction"
	eventModel    = "attractor.model_changed"
	eventMode     = "attractor.mode_changed"
	eventNote     = "attractor.note"
	eventWarning  = "attractor.warning"
	eventLoop     = "attractor.loop_detected"
	eventLimit    = "attractor.turn_limit"
	eventContext  = "attractor.context_warning"
	spanApprove   = "approve"
	spanAsk       = "ask_user"
)

// other stands for unknown values in metrics, where each value costs the receiver a series.
const other = "_OTHER"

// conventions holds the names that differ between versions. An empty name is not reported.
type conventions struct {
	schema                 string
	cacheWrite             attribute.Key
	effort                 attribute.Key
	agentID                attribute.Key
	tokenUsage             string // a histogram of both directions
	inputTokens            string // counters
	outputTokens           string
	readTokens             string
	writeTokens            string
	reasoningTokens        string
	modelDuration          string
	firstChunk             string
	toolDuration, agentRun string
}

// names returns the names of a version, and those of the default for an unknown one.
func (v Conventions) names() conventions {
	if v == ConventionsGenAI0_1 {
		return conventions{
			cacheWrite:      "gen_ai.usage.cache_write.input_tokens",
			effort:          "gen_ai.request.reasoning.level",
			inputTokens:     "gen_ai.client.inference.usage.input_tokens",
			outputTokens:    "gen_ai.client.inference.usage.output_tokens",
			readTokens:      "gen_ai.client.inference.usage.cache_read.input_tokens",
			writeTokens:     "gen_ai.client.inference.usage.cache_write.input_tokens",
			reasoningTokens: "gen_ai.client.inference.usage.reasoning.output_tokens",
			modelDuration:   "gen_ai.client.inference.duration",
			firstChunk:      "gen_ai.client.inference.time_to_first_chunk",
			toolDuration:    "gen_ai.execute_tool.duration",
			agentRun:        "gen_ai.invoke_agent.duration",
		}
	}
	return conventions{
		schema:        "https://opentelemetry.io/schemas/1.41.0",
		cacheWrite:    "gen_ai.usage.cache_creation.input_tokens",
		effort:        "attractor.effort",
		agentID:       "gen_ai.agent.id",
		tokenUsage:    "gen_ai.client.token.usage",
		modelDuration: "gen_ai.client.operation.duration",
		firstChunk:    "gen_ai.client.operation.time_to_first_chunk",
		toolDuration:  "attractor.execute_tool.duration",
		agentRun:      "attractor.invoke_agent.duration",
	}
}

// usage appends the numbers of tokens.
func (n *conventions) usage(attrs []attribute.KeyValue, u llm.Usage) []attribute.KeyValue {
	if u == (llm.Usage{}) {
		return attrs
	}
	attrs = append(attrs, keyInputTokens.Int(u.Input), keyOutputTokens.Int(u.Output))
	attrs = optional(attrs, keyCacheRead, u.CacheRead)
	attrs = optional(attrs, n.cacheWrite, u.CacheWrite)
	return optional(attrs, keyReasoningTokens, u.Reasoning)
}

// providerName returns a provider's name in the conventions, or its own name if they have none.
func providerName(name string) string {
	if name == "gemini" {
		return "gcp.gemini"
	}
	return name
}

// optional appends an attribute with a number, unless the number is 0 or the key empty.
func optional(attrs []attribute.KeyValue, key attribute.Key, n int) []attribute.KeyValue {
	if key == "" || n == 0 {
		return attrs
	}
	return append(attrs, key.Int(n))
}
