// Package catalog lists models with their windows, output limits, modalities, reasoning efforts and prices.
//
// The catalog only advises: model ids that it does not list are passed to the provider unchanged. Its facts are in models.json,
// each provider's newest models first. They age, so a host can override them with [Catalog.With] or [Catalog.Read].
package catalog
