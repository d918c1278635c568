// Package llm provides one API for all models: messages in, a stream of events or a whole
// [Response] out.
//
// A [Provider] speaks one vendor's wire format and has one method, Stream. A [Client] routes
// requests to providers by name and wraps them in [Middleware]; [Collect] turns a stream into a
// [Response]. Every failure is an [*Error] with a kind that errors.Is finds: [ErrRateLimit],
// [ErrAuthentication] and others.
//
// The providers are in packages anthropic, openai, openaichat and gemini; package providers makes a
// client of those whose keys the environment has. A client has no loop and keeps no conversation:
// package generate has a loop with tools, and package agent has sessions. It does not retry unless
// [Retry] is among its middleware, and knows prices and windows only from a catalog (package
// catalog).
//
// # The stream contract
//
// Every provider keeps this contract, and package providertest checks it:
//
//   - Deltas are incremental: concatenated, they are the block.
//   - A block's events (start, deltas, end) carry its index, and blocks start in ascending order.
//   - The last event is [EventFinish] with the whole [Response].
//   - A body that ends in any other way yields exactly one error, an [*Error]. A stream never just
//     stops, and nothing follows an error.
//   - Breaking out of the loop closes the connection.
//   - A ping is not progress: it neither resets the idle timer nor becomes an event.
//   - Events after the finish reason are ignored, and an event that a server numbers counts once.
//   - Every wait for the server has a limit, including the wait for the headers.
//   - A response has at most 16 MiB of text, thinking and arguments, with each block as 1 KiB more. A
//     longer one is cut off with an [ErrStream] that is final.
package llm
