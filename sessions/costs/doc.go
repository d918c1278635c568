// Package costs says what a session has cost: by model, by purpose, and by part of its prompt,
// which is paid again with each request.
//
// A [Sum] is made from the records of a session, so it is the same while the session runs, after a
// resume and afterwards.
//
// # Decisions
//
//   - The records have the cost of a request, and how much of its input the provider read from its
//     cache and wrote to it. The share of each part is estimated by its characters, as in the gauge
//     of the context. The cache has the beginning of a request, so the order of its parts matters:
//     a new result costs the price of writing once, and then the price of reading.
//   - The cost of a request is that of the records. The facts about the model are only used to
//     divide it.
package costs
