package providers

import (
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/openai"
	"github.com/attractor-go/attractor/llm/openaichat"
)

// Kinds returns all kinds of providers. The variables are those of the vendors' own SDKs and
// documents, as far as they have any.
func Kinds() Table {
	return append(append(vendors(), hosts()...), own()...)
}

// vendors returns the providers that make models, and openai-compatible and openrouter.
func vendors() []Kind {
	return []Kind{
		{Name: "anthropic", Format: Messages, URLs: []string{"https://api.anthropic.com"},
			KeyVars: []string{"ANTHROPIC_API_KEY"}, BaseURLVar: "ANTHROPIC_BASE_URL", Recorded: true, WebSearch: true,
			usual: true},
		{Name: "openai", Format: Responses, URLs: []string{"https://api.openai.com/v1"},
			KeyVars: []string{"OPENAI_API_KEY"}, BaseURLVar: "OPENAI_BASE_URL", Recorded: true, WebSearch: true,
			usual:           true,
			organizationVar: "OPENAI_ORG_ID", projectVar: "OPENAI_PROJECT_ID"},
		{Name: "gemini", Format: GenerateContent, URLs: []string{"https://generativelanguage.googleapis.com"},
			KeyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, BaseURLVar: "GEMINI_BASE_URL", Recorded: true,
			WebSearch: true, usual: true},
		{Name: "openai-compatible", Format: ChatCompletions,
			KeyVars:    []string{"OPENAI_COMPATIBLE_API_KEY", "OPENAI_API_KEY"},
			BaseURLVar: "OPENAI_COMPATIBLE_BASE_URL", NeedsURL: true, Recorded: true},
		{Name: "openrouter", Format: ChatCompletions, ClaudeMessages: ".", host: "openrouter.ai",
			URLs:    []string{"https://openrouter.ai/api/v1"},
			KeyVars: []string{"OPENROUTER_API_KEY"}, BaseURLVar: "OPENROUTER_BASE_URL", Recorded: true, usual: true},
		{Name: "xai", Format: Responses, URLs: []string{"https://api.x.ai/v1"},
			KeyVars: []string{"XAI_API_KEY"}, BaseURLVar: "XAI_BASE_URL", Recorded: true,
			responses: openai.Options{SystemMessage: true}},
		{Name: "deepseek", Format: ChatCompletions, URLs: []string{"https://api.deepseek.com"},
			KeyVars: []string{"DEEPSEEK_API_KEY"}, BaseURLVar: "DEEPSEEK_BASE_URL", Recorded: true,
			chat: openaichat.Options{Quirks: []llm.Quirk{llm.QuirkReasoning}}},
		{Name: "mistral", Format: ChatCompletions, URLs: []string{"https://api.mistral.ai/v1"},
			KeyVars: []string{"MISTRAL_API_KEY"}, BaseURLVar: "MISTRAL_BASE_URL", Recorded: true,
			chat: openaichat.Options{Quirks: []llm.Quirk{llm.QuirkWithout("stream_options")}, CallIDLength: 9}},
		{Name: "moonshotai", Format: ChatCompletions, URLs: []string{"https://api.moonshot.ai/v1"},
			KeyVars: []string{"MOONSHOT_API_KEY"}, BaseURLVar: "MOONSHOT_BASE_URL", Recorded: true,
			chat: openaichat.Options{PromptCacheKey: true}},
		{Name: "zai", Format: ChatCompletions, URLs: []string{"https://api.z.ai/api/coding/paas/v4"},
			KeyVars: []string{"ZAI_API_KEY"}, BaseURLVar: "ZAI_BASE_URL", Recorded: true},
		{Name: "minimax", Format: Messages, URLs: []string{"https://api.minimax.io/anthropic"},
			KeyVars: []string{"MINIMAX_API_KEY"}, BaseURLVar: "MINIMAX_BASE_URL", bearer: true,
			messages: anthropic.Options{ShortCache: true}},
	}
}

// hosts returns the providers that run other vendors' models.
func hosts() []Kind {
	return []Kind{
		{Name: "azure", Format: Responses, Profile: "openai",
			URLs: []string{"https://${AZURE_OPENAI_RESOURCE_NAME}.openai.azure.com/openai/v1",
				"${AZURE_OPENAI_ENDPOINT}/openai/v1"},
			KeyVars: []string{"AZURE_OPENAI_API_KEY"}, BaseURLVar: "AZURE_OPENAI_BASE_URL", Recorded: true},
		{Name: "amazon-bedrock", Format: ChatCompletions, ClaudeMessages: "../anthropic/v1", host: ".api.aws",
			URLs: []string{"https://bedrock-mantle.${AWS_REGION}.api.aws/v1",
				"https://bedrock-mantle.${AWS_DEFAULT_REGION}.api.aws/v1"},
			KeyVars: []string{"AWS_BEARER_TOKEN_BEDROCK"}, BaseURLVar: "AMAZON_BEDROCK_BASE_URL"},
		{Name: "google-vertex", Format: GenerateContent, Profile: "gemini", publisher: "google",
			URLs:    []string{"https://aiplatform.googleapis.com/v1"},
			KeyVars: []string{"GOOGLE_CLOUD_API_KEY"}, BaseURLVar: "GOOGLE_VERTEX_BASE_URL", Recorded: true},
		{Name: "groq", Format: ChatCompletions, URLs: []string{"https://api.groq.com/openai/v1"},
			KeyVars: []string{"GROQ_API_KEY"}, BaseURLVar: "GROQ_BASE_URL", Recorded: true,
			chat: openaichat.Options{NoReasoning: true}},
		{Name: "cerebras", Format: ChatCompletions, URLs: []string{"https://api.cerebras.ai/v1"},
			KeyVars: []string{"CEREBRAS_API_KEY"}, BaseURLVar: "CEREBRAS_BASE_URL"},
		{Name: "together", Format: ChatCompletions, URLs: []string{"https://api.together.ai/v1"},
			KeyVars: []string{"TOGETHER_API_KEY"}, BaseURLVar: "TOGETHER_BASE_URL"},
		{Name: "fireworks", Format: ChatCompletions, URLs: []string{"https://api.fireworks.ai/inference/v1"},
			KeyVars: []string{"FIREWORKS_API_KEY"}, BaseURLVar: "FIREWORKS_BASE_URL",
			chat: openaichat.Options{AffinityHeader: "X-Session-Affinity"}},
		{Name: "huggingface", Format: ChatCompletions, URLs: []string{"https://router.huggingface.co/v1"},
			KeyVars: []string{"HF_TOKEN"}, BaseURLVar: "HUGGINGFACE_BASE_URL", Recorded: true},
		{Name: "nvidia", Format: ChatCompletions, URLs: []string{"https://integrate.api.nvidia.com/v1"},
			KeyVars: []string{"NVIDIA_API_KEY"}, BaseURLVar: "NVIDIA_BASE_URL"},
		{Name: "baseten", Format: ChatCompletions, URLs: []string{"https://inference.baseten.co/v1"},
			KeyVars: []string{"BASETEN_API_KEY"}, BaseURLVar: "BASETEN_BASE_URL"},
		{Name: "vercel-ai-gateway", Format: Messages, URLs: []string{"https://ai-gateway.vercel.sh"},
			KeyVars: []string{"AI_GATEWAY_API_KEY"}, BaseURLVar: "AI_GATEWAY_BASE_URL", bearer: true},
	}
}

// own returns the servers that users run themselves.
func own() []Kind {
	return []Kind{
		{Name: "ollama", Format: ChatCompletions, BaseURLVar: "OLLAMA_HOST", Local: true, Start: "ollama serve",
			addressURL: ollamaURL},
		{Name: "lmstudio", Format: ChatCompletions, URLs: []string{"http://localhost:1234/v1"},
			KeyVars: []string{"LMSTUDIO_API_KEY"}, BaseURLVar: "LMSTUDIO_BASE_URL", Local: true,
			Start: "lms server start"},
		{Name: "vllm", Format: ChatCompletions, URLs: []string{"http://localhost:8000/v1"},
			KeyVars: []string{"VLLM_API_KEY"}, BaseURLVar: "VLLM_BASE_URL", Local: true,
			Start: "vllm serve MODEL --enable-auto-tool-choice --tool-call-parser PARSER"},
		{Name: "llamacpp", Format: ChatCompletions, URLs: []string{"http://localhost:8080/v1"},
			KeyVars: []string{"LLAMA_API_KEY"}, BaseURLVar: "LLAMACPP_BASE_URL", Recorded: true, Local: true,
			Start: "llama-server -m MODEL.gguf --jinja -c 65536 --port 8080"},
	}
}
