package undo_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/undo"
)

func ExampleNewest() {
	_, err := undo.Newest(context.Background(), journal.NewMemoryStore(false), ".")
	fmt.Println(errors.Is(err, undo.ErrNothing))
	// Output: true
}
