// Package openaichat implements [llm.Provider] for Chat Completions, the format of most model
// servers: vLLM, Ollama, llama.cpp, LM Studio, SGLang, OpenRouter, Groq, DeepSeek, xAI, Mistral,
// Kimi, GLM and others. [New] returns a [Provider] for an [llm.Client]; [Options] holds the
// server's URL, and switches for servers that accept less or more than others. OpenAI's Responses
// API is package openai.
//
// A request of a conversation begins with the bytes of the one before, so that the servers' prefix
// caches hit, and has nothing that one of these servers refuses. Responses are decoded in all the
// forms that these servers send. A provider makes one attempt; [llm.Retry] makes more. It does not
// ask a server which models it has.
//
// Requests are encoded as follows:
//
//   - System messages at the start become one message, because many chat templates accept only one.
//     Later ones stay in their place. Developer messages become system messages unless
//     [Options.DeveloperRole] is set.
//   - Each tool result becomes a message. The API cannot mark a result as an error, so its text
//     must say so. It accepts no images in results: they follow in a user message after all
//     results.
//   - A call's arguments are sent back as the model wrote them. Servers parse them, so what is not
//     a JSON object becomes one: the one in a string, {} for nothing, {"_raw": "..."} for the rest.
//   - Reasoning is sent back in the member that it came in (reasoning_content, reasoning,
//     reasoning_details or typed content), only to the provider that wrote it and only in messages
//     with tool calls. Some servers need it there (DeepSeek, Kimi, OpenRouter with signed
//     reasoning); others refuse it elsewhere or do not know the member.
//   - A free-form tool (one with a Grammar and no Parameters) is offered as a function with one
//     string parameter, input. Nothing enforces the grammar. Its calls are delivered as free-form
//     calls, as a whole, when the response is complete.
//   - Images become image_url, audio clips input_audio. Documents are an [llm.ErrUnsupported]. An
//     [llm.Opaque] of this provider in a user message is sent verbatim as a content part, for parts
//     that package llm has no type for.
package openaichat
