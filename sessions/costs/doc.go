// Package costs says what a session has cost: by model, by purpose, and by part of its prompt, which
// is paid again with each request.
//
// A [Sum] is made from the records of a session, so it is the same while the session runs, after a
// resume and afterwards.
//
// # Decisions
//
//   - What a request cost is known, and how much of its input the provider read from its cache and
//     wrote to it. How much of it was each part is estimated, by the characters that also the gauge
//     of the context counts. The parts of a request stand in its order, and the cache has its
//     beginning: so a new result costs what writing costs, once, and then what reading costs.
//   - The prices are those of the request: the records have its cost, and the facts about the model
//     only divide it.
package costs
