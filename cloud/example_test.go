package cloud_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/cloud"
)

// A session with a model of Bedrock, whose requests are signed with the credentials of AWS's own
// tools.
func ExampleCredentials() {
	config := attractor.Config{
		Model:       "amazon-bedrock/anthropic.claude-sonnet-5-5",
		Credentials: cloud.Credentials(),
	}
	// session, err := attractor.Open(ctx, config)

	fmt.Println(slices.Sorted(maps.Keys(config.Credentials)))
	// Output: [amazon-bedrock google-vertex]
}
