package secret_test

import (
	"fmt"

	"github.com/attractor-go/attractor/secret"
)

func ExampleMasker() {
	m := secret.New()
	if err := m.Register("DEPLOY_TOKEN", "k7Gq-29xLm-44-z"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.String("Authorization: k7Gq-29xLm-44-z"))
	fmt.Println(m.String("base64: azdHcS0yOXhMbS00NC16"))
	fmt.Println(m.Register("PIN", "1234"))

	s := m.Stream() // for a text that arrives in pieces
	fmt.Println(s.Next("it is k7Gq-2") + "|" + s.Next("9xLm-44-z, and") + "|" + s.Flush())
	// Output:
	// Authorization: [secret DEPLOY_TOKEN]
	// base64: [secret DEPLOY_TOKEN]
	// secret: PIN is not masked: it has fewer than 8 bytes, so it cannot be told from ordinary text
	// it is |[secret DEPLOY_TOKEN], an|d
}
