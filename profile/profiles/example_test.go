package profiles_test

import (
	"fmt"

	"github.com/attractor-go/attractor/profile/profiles"
)

func ExampleFind() {
	p, err := profiles.Find("openai", false)
	fmt.Println(p.Name, err)
	_, err = profiles.Find("none", false)
	fmt.Println(err)
	// Output:
	// openai <nil>
	// unknown profile "none"; the profiles are anthropic, openai, gemini
}
