package sessions_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sessions"
)

func ExampleFind() {
	_, err := sessions.Find(context.Background(), journal.NewMemoryStore(false), "0192f0a1")
	fmt.Println(errors.Is(err, sessions.ErrNotFound), err)
	// Output: true there is no session "0192f0a1"
}
