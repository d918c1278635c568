package providers_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/attractor-go/attractor/llm/providers"
)

// One provider for each key that is set. A program passes os.Getenv.
func ExampleFromEnv() {
	keys := map[string]string{"ANTHROPIC_API_KEY": "a-key", "GEMINI_API_KEY": "another-key"}
	client, err := providers.FromEnv(func(name string) string { return keys[name] })
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range client.Providers {
		fmt.Println(p.Name())
	}

	_, err = providers.FromEnv(func(string) string { return "" })
	fmt.Println(err)
	// Output:
	// anthropic
	// gemini
	// no API key: set ANTHROPIC_API_KEY, or OPENAI_API_KEY, or GEMINI_API_KEY, or OPENAI_COMPATIBLE_BASE_URL, or OPENROUTER_API_KEY (configuration)
}

// A provider that a user has named, with the key and the URL that the environment has for it.
func ExampleFind() {
	environment := map[string]string{"OLLAMA_HOST": "gpu.example.com:11434"}
	kind, err := providers.Find("ollama")
	if err != nil {
		log.Fatal(err)
	}
	config, _ := kind.Config(func(name string) string { return environment[name] })
	provider, err := kind.New(config)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(provider.Name(), config.BaseURL)

	_, err = providers.Find("olama")
	what, _, _ := strings.Cut(err.Error(), ";")
	fmt.Println(what)
	// Output:
	// ollama http://gpu.example.com:11434/v1
	// unknown provider "olama"
}
