// Package catalog knows models: windows, output limits, modalities, reasoning efforts and prices.
//
// It is advice, not a gate: an id that is not in it passes through to the provider. Its facts are in models.json, each provider's
// newest models first; they age, so a host can put its own over them with [Catalog.With] or [Catalog.Read].
package catalog
