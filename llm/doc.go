// Package llm is one API over all models: messages in, a stream of events or a whole [Response] out.
//
// A [Provider] speaks one vendor's wire format and has one method, Stream. A [Client] routes requests to providers by name and
// wraps them in [Middleware]; [Collect] turns a stream into a [Response]. Failures are an [*Error] with a sentinel kind
// ([ErrRateLimit], [ErrAuthentication], ...) that errors.Is finds.
//
// # The stream contract
//
// Every provider keeps it, and package providertest checks it:
//
//   - deltas are incremental: concatenated, they are the block;
//   - a block's events (start, deltas, end) carry its index, and blocks start in rising order;
//   - the last event is [EventFinish] with the whole [Response];
//   - any other end of the body is exactly one error, an [*Error]; a stream never ends in silence, and nothing follows an error;
//   - breaking out of the loop closes the connection;
//   - a ping is not progress: it does not postpone the idle timer, and it is not an event;
//   - what comes after the reason to stop is no part of the answer, and an event that a server numbers counts once;
//   - every silence has an end, before the answer's headers too;
//   - an answer has at most 16 MiB of text, thinking and arguments: a longer one is cut off with an [ErrStream] that is final.
package llm
