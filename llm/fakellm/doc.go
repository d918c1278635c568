// Package fakellm provides a scripted model behind HTTP, for tests and demonstrations of programs
// that call models. [New] returns an [http.Handler] that speaks the APIs of Anthropic, OpenAI
// (Responses and Chat Completions) and Gemini, so that a program talks to it through its real
// providers.
//
// A [Model] returns a [Turn] for each request; [Script] returns a model that follows a list of
// turns. The server streams, refuses requests that the vendor would refuse, counts tokens with a
// prompt cache, and has faults by request number ([Fault]).
//
// It is strict about the form of requests and knows nothing of their content. A test that needs no
// HTTP uses package llmtest instead. The command llm/fakellm/serve runs a script by hand.
package fakellm
