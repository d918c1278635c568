// Everything opens a session as the command does: with the settings, rules, hooks, servers, skills,
// commands and agents of the user, and of the project as far as the user has trusted it. A program
// that says nothing about Load, as examples/minimal, has nothing of all that.
//
//	$ everything "/greet Ada"
//	mode accept-edits, commands: greet
//	warning: These parts of the project are not used, because the project is not trusted: skills: deploy.
//	Hello, Ada.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/attractor-go/attractor"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, line string) error {
	session, err := attractor.Open(ctx, attractor.Config{Load: attractor.LoadUser | attractor.LoadProject})
	if err != nil {
		return err
	}
	defer session.Close()
	var names []string
	for _, c := range session.Commands() {
		names = append(names, c.Name)
	}
	fmt.Printf("mode %s, commands: %s\n", session.Mode(), strings.Join(names, " "))
	result, err := session.SubmitCommand(ctx, line) // a line without a command is an ordinary task
	for _, text := range session.Warnings() {
		text, _, _ = strings.Cut(text, " To see the files") // which says how to trust it
		fmt.Println("warning:", text)
	}
	if err != nil {
		return err
	}
	fmt.Println(result.Text)
	return nil
}
