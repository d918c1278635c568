package catalog_test

import (
	"fmt"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
)

// What a response has cost, by the list prices.
func ExampleNew() {
	models := catalog.New()
	m, ok := models.Get("anthropic", "claude-sonnet-4-5")
	usd, known := m.Cost(llm.Usage{Input: 10_000, CacheRead: 8_000, Output: 500})
	fmt.Println(ok, m.Window, known, fmt.Sprintf("%.4f", usd))
	// Output: true 200000 true 0.0159
}

// A model of your own, and the prices that you really pay. A client with the catalog passes the
// facts to its providers.
func ExampleCatalog_With() {
	models := catalog.New().With(
		llm.Model{ID: "qwen3-coder", Provider: "ollama", Window: 32_768, MaxOutput: 8_192},
		llm.Model{ID: "claude-sonnet-4-5", Provider: "anthropic", Window: 200_000,
			Prices: []llm.Price{{Input: 2.4, Output: 12}}})
	client := &llm.Client{Models: models.Get}

	m, known := client.Models("ollama", "qwen3-coder")
	fmt.Println(m.Window, known)
	_, known = client.Models("anthropic", "claude-from-next-year")
	fmt.Println(known)
	// Output:
	// 32768 true
	// false
}
