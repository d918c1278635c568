// Webapprovals runs a task whose calls a person approves elsewhere: a GET of the address that it
// prints lists what is asked, each with its id, and a POST to ID/yes or ID/no below it answers.
//
//	$ webapprovals "Release the project."
//	http://127.0.0.1:PORT/TOKEN/
//	Released, after somebody said yes.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, task string) error {
	// who has the address may answer
	inbox, secret, mux := permit.NewInbox(nil, nil), "/"+rand.Text()+"/", http.NewServeMux()
	mux.HandleFunc("GET "+secret, func(w http.ResponseWriter, _ *http.Request) {
		for _, ask := range inbox.Open() {
			fmt.Fprintf(w, "%s %s %q\n", ask.ID, ask.Approval.Call.Name, ask.Approval.Call.Args)
		}
	})
	mux.HandleFunc("POST "+secret+"{id}/{answer}", func(w http.ResponseWriter, r *http.Request) {
		answer := permit.Answer{Reason: "the person said no"}
		if r.PathValue("answer") == "yes" {
			answer = permit.Answer{Verdict: tool.Allow}
		}
		if err := inbox.Decide(r.PathValue("id"), answer); err != nil { // it was answered already, for instance
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	go func() { _ = http.Serve(listener, http.NewCrossOriginProtection().Handler(mux)) }() // until the task has ended
	fmt.Printf("http://%s%s\n", listener.Addr(), secret)
	session, err := attractor.Open(ctx, attractor.Config{Inbox: inbox})
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.Submit(ctx, task)
	fmt.Println(result.Text) // there is a result, also beside an error
	return err
}
