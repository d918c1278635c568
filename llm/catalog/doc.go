// Package catalog lists models with their windows, output limits, modalities, reasoning efforts and
// prices.
//
// [New] returns the catalog that comes with the library, and [Catalog.Get] one of its models. Get
// fits [llm.Client.Models], which passes the facts to providers and middleware.
//
// The catalog only advises: model ids that it does not list are passed to the provider unchanged.
// Its facts are in the directory models, a file a provider, with the newest or the usual model
// first. They age, and nothing is fetched, so a host can override them with [Catalog.With] or
// [Catalog.Read].
package catalog
