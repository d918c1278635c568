package secret_test

import (
	"fmt"

	"github.com/attractor-go/attractor/secret"
)

func ExampleMasker() {
	m := secret.New()
	if err := m.Register("DEPLOY_TOKEN", "k7Gq-29xLm-44"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.String("Authorization: k7Gq-29xLm-44"))
	fmt.Println(m.String("base64: azdHcS0yOXhMbS00NA=="))
	fmt.Println(m.Register("PIN", "1234"))

	s := m.Stream() // for a text that arrives in pieces
	fmt.Println(s.Next("it is k7Gq-2") + "|" + s.Next("9xLm-44 and") + "|" + s.Flush())
	// Output:
	// x
}
