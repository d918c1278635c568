package secret_test

import (
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/attractor-go/attractor/secret"
)

// Values that a program registers are found as they are and encoded; keys in well-known formats
// need not be registered.
func ExampleMasker() {
	m := secret.New()
	if err := m.Register("DEPLOY_TOKEN", "k7Gq-29xLm-44-z"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.String("Authorization: k7Gq-29xLm-44-z"))
	fmt.Println(m.String("base64: azdHcS0yOXhMbS00NC16"))
	fmt.Println(m.String("aws_access_key_id = " + "AKIA" + "QYLPMN5HFIQR7XYA"))
	fmt.Println(m.Register("PIN", "1234"))
	// Output:
	// Authorization: [secret DEPLOY_TOKEN]
	// base64: [secret DEPLOY_TOKEN]
	// aws_access_key_id = [secret aws-access-key]
	// secret: PIN is not masked: it has fewer than 8 bytes, so it cannot be told from ordinary text
}

// A text that arrives in pieces. What may be the beginning of a secret waits for the next piece.
func ExampleStream() {
	m := secret.New()
	if err := m.Register("DEPLOY_TOKEN", "k7Gq-29xLm-44-z"); err != nil {
		log.Fatal(err)
	}
	s := m.Stream()
	for _, piece := range []string{"it is k7Gq-2", "9xLm-44-z, and"} {
		fmt.Printf("%q\n", s.Next(piece))
	}
	fmt.Printf("%q\n", s.Flush())
	// Output:
	// "it is "
	// "[secret DEPLOY_TOKEN], an"
	// "d"
}

// A logger without secrets.
func ExampleMasker_Log() {
	m := secret.New()
	if err := m.Register("DEPLOY_TOKEN", "k7Gq-29xLm-44-z"); err != nil {
		log.Fatal(err)
	}
	quiet := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey { // another one in each run
			return slog.Attr{}
		}
		return a
	}
	logger := slog.New(m.Log(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: quiet})))
	logger.Info("deploying", "command", "deploy --token k7Gq-29xLm-44-z")
	// Output: level=INFO msg=deploying command="deploy --token [secret DEPLOY_TOKEN]"
}
