package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
)

func main() {
	attractor, tasks := exec.Command("attractor", "run", "--input", "json"), os.Args[1:]
	attractor.Stderr = os.Stderr
	in, _ := attractor.StdinPipe() // an error here would be one of Start, too
	out, _ := attractor.StdoutPipe()
	send, events, err := json.NewEncoder(in), json.NewDecoder(out), attractor.Start()
	for err == nil && events.More() {
		var event map[string]any
		err = events.Decode(&event)
		access, _ := event["access"].(map[string]any)
		switch kind := event["kind"]; {
		case kind == "ASSISTANT_TEXT_END":
			fmt.Println(event["text"])
		case kind == "APPROVAL_REQUESTED":
			err = send.Encode(map[string]any{"type": "approve", "ask": event["ask"],
				"decision": map[bool]string{true: "allow", false: "deny"}[access["command"] == nil]})
		case kind == "QUESTION":
			err = send.Encode(map[string]any{"type": "answer", "ask": event["ask"], "text": "as you like"})
		case kind != "SESSION_START" && event["state"] != "IDLE": // more is to come
		case len(tasks) == 0:
			err = in.Close() // ends the session when all is done
		default:
			err, tasks = send.Encode(map[string]any{"type": "user", "text": tasks[0]}), tasks[1:]
		}
	}
	if err != nil {
		log.Fatal("the session failed: ", err)
	} else if err = attractor.Wait(); err != nil {
		log.Fatal("attractor failed: ", err)
	}
}
