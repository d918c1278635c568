// Package profile describes what a model family is given to work with: a prompt, tools and
// defaults, as data.
//
// A [Profile] is a plain value, which agent.Options takes. The packages below this one have one for
// each vendor: profile/anthropic, profile/openai and profile/gemini. Each makes it in two dialects:
// Profile has this project's own tools, and Native has names, parameters and formats of the
// vendor's own agent. A host may change its copy, or make a profile of its own.
//
// A profile does not reach a model (package llm/providers does), sets no limits and no budget
// (agent.Policy), and does not say what a call may do (agent.Hooks).
package profile
