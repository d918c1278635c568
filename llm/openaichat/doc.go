// Package openaichat is the provider of Chat Completions, the format that most model servers speak: vLLM, Ollama, llama.cpp,
// LM Studio, SGLang, OpenRouter, Groq, DeepSeek, xAI, Mistral, Kimi, GLM and others. Requests are encoded append-only, so that
// the servers' prefix caches hold, and hold only what all of these servers take; answers are decoded in all the forms in which
// they really come.
//
// What a request becomes:
//
//   - System messages at the start are one message, for many chat templates take no second one. Later ones stay in their place.
//     Developer messages are system messages unless [Options.DeveloperRole].
//   - Tool results are one message each. The API has no word for an error result, so the result's text has to say it, and it takes
//     no images there: they follow in a user message after all results.
//   - A call's arguments go back as the model wrote them. Servers parse them, so what is no JSON object becomes one: {} for
//     nothing, {"_raw": "..."} for anything else.
//   - Reasoning goes back in the member that it came in (reasoning_content, reasoning, reasoning_details or typed content), to the
//     provider that wrote it and only in messages with tool calls: that is where servers need it (DeepSeek, Kimi, OpenRouter with
//     signed reasoning), and others refuse it elsewhere or do not know the member at all.
//   - A free-form tool (one with a Grammar and no Parameters) is offered as a function with one string parameter, input; nothing
//     enforces the grammar. Its calls come back as free-form calls, whole, when the answer is complete.
//   - Images go as image_url, audio clips as input_audio; documents are an [llm.ErrUnsupported]. An [llm.Opaque] of this provider
//     in a user message is a content part as it stands, for what has no name here.
package openaichat
