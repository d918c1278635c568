// Structured reviews a file and gets the findings as Go values: attractor.Do asks the model for a
// result of the form of a struct.
//
//	$ structured greet.go
//	greet.go:4: high: the error of Greet is ignored
//	greet.go:5: low: "Helo" is misspelled
//	2 findings
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/attractor-go/attractor"
)

// review is the result. The model sees its schema, made from the tags.
type review struct {
	Findings []finding `json:"findings" jsonschema:"the mistakes in the file, in the order of their lines"`
}

type finding struct {
	Line     int    `json:"line" jsonschema:"the number of the line, from 1"`
	Severity string `json:"severity" jsonschema:"high or low"`
	Message  string `json:"message" jsonschema:"what is wrong, in one short sentence"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		log.Fatal("usage: structured FILE")
	}
	if err := run(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file string) error {
	found, _, err := attractor.Do[review](ctx, attractor.Config{},
		fmt.Sprintf("Review the file %q for mistakes.", file))
	if err != nil {
		return err
	}
	for _, f := range found.Findings {
		fmt.Printf("%s:%d: %s: %s\n", file, f.Line, f.Severity, f.Message)
	}
	fmt.Printf("%d findings\n", len(found.Findings))
	return nil
}
