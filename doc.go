// Package attractor is the root of a library that runs coding agents. It has no code, only the example of a whole program.
//
// Start at package agent: a Session pairs a model with tools in a loop. What it is made of comes from the packages beside it: models from
// llm/providers, prompts and tools for a model family from profile/anthropic, profile/openai and profile/gemini, a place for files and commands
// from env, and storage from journal. The command is in cmd/attractor.
//
// README.md says what there is, and DESIGN.md how it is built.
package attractor
