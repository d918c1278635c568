package script_test

import (
	"fmt"
	"log"

	"github.com/attractor-go/attractor/internal/script"
)

// Put values from elsewhere into a script. They remain text, wherever they stand.
func ExampleFill() {
	values := map[string]string{"1": "it's; rm -rf /"}
	filled, err := script.Fill(`git log --grep $1 --format="$1: %s"`, func(name string) (script.Value, bool) {
		text, ok := values[name]
		return script.Value{Words: []string{text}, Text: text}, ok
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(filled)
	// Output: git log --grep 'it'\''s; rm -rf /' --format="it's; rm -rf /: %s"
}
