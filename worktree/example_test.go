package worktree_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/worktree"
)

func ExampleOpen() {
	w, err := worktree.Open(context.Background(),
		worktree.Options{Dir: "/home/me/shop", Name: "login", Home: "/home/me/.local/share/worktrees"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("work in", w.Dir)
	w.Close(context.Background())
	if w.Kept != "" {
		fmt.Println("it stays:", w.Kept)
	}
}

func ExampleCheck() {
	fmt.Println(worktree.Check("login-page"))
	fmt.Println(worktree.Check("../login"))
	// Output:
	// <nil>
	// "../login": the name of a worktree has at most 64 letters, digits, dots, underscores and hyphens, and begins with a letter or a digit
}
