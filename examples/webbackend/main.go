// Webbackend runs a session for each task posted to it, and streams its events to the browser. It
// posts the task of its command line itself.
//
//	$ webbackend "What does this project do?"
//	event: text
//	data: It greets whoever runs it.
//	event: end
//	data: completed
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/permit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	// an interrupt ends all requests
	server := http.Server{BaseContext: func(net.Listener) context.Context { return ctx }}
	// Pages of other sites start nothing.
	server.Handler = http.NewCrossOriginProtection().Handler(http.HandlerFunc(stream))
	go func() { log.Print(server.Serve(listener)) }()
	response, err := http.PostForm("http://"+listener.Addr().String(),
		url.Values{"task": {strings.Join(os.Args[1:], " ")}})
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		log.Fatal(string(text))
	}
	fmt.Print(strings.ReplaceAll(string(text), "\n\n", "\n"))
}

func stream(w http.ResponseWriter, r *http.Request) {
	session, err := attractor.Open(r.Context(), attractor.Config{Mode: permit.ModeReadOnly})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer session.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	for event, err := range session.Run(r.Context(), r.FormValue("task")) { // interrupted if the browser goes away
		switch e := event.(type) {
		case nil:
			fmt.Fprintf(w, "event: error\ndata: %q\n\n", err.Error())
		case *agent.AssistantTextEnd:
			fmt.Fprintf(w, "event: text\ndata: %s\n\n", strings.NewReplacer("\r", "", "\n", "\ndata: ").Replace(e.Text))
		case *agent.ProcessingEnd:
			fmt.Fprintf(w, "event: end\ndata: %s\n\n", e.Reason)
		}
		http.NewResponseController(w).Flush()
	}
}
