// Package catalog lists models with their windows, output limits, modalities, reasoning efforts and
// prices.
//
// [New] returns the catalog that comes with the library, and [Catalog.Get] one of its models. Get
// fits [llm.Client.Models], which passes the facts to providers and middleware.
//
// The catalog only advises: model ids that it does not list are passed to the provider unchanged.
// Its facts are in models.json, each provider's newest models first. They age, and nothing is
// fetched, so a host can override them with [Catalog.With] or [Catalog.Read].
package catalog
