package capture_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
)

// A command prints more than is kept.
func Example() {
	local, err := env.NewLocal(".", env.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	output := capture.New(capture.Options{Head: 8, Tail: 10})
	run, err := env.Run(context.Background(), local, env.Command{Script: "seq 1 1000", Output: output.Write},
		time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("exit code", run.Code)
	fmt.Print(output.Text())
	bytes, _, lines := output.Omission()
	fmt.Println(output.Total(), "bytes,", bytes, "of them in", lines, "lines are not kept")
	// Output:
	// exit code 0
	// 1
	// 2
	// 3
	// 4
	//
	// [... 3875 bytes omitted ...]
	//
	// 999
	// 1000
	// 3893 bytes, 3875 of them in 993 lines are not kept
}

// A screen shows the output of a command while it runs.
func ExampleBuffer_Since() {
	output := capture.New(capture.Options{Head: 4, Tail: 4})
	var offset int64
	show := func() {
		for {
			p, lost, next := output.Since(offset)
			if len(p) == 0 {
				return
			}
			fmt.Printf("%q, %d bytes before it are lost\n", p, lost)
			offset = next
		}
	}
	output.Write(env.Stdout, []byte("one\n"))
	show()
	output.Write(env.Stdout, []byte("two\nthree\nsix\n"))
	show()
	// Output:
	// "one\n", 0 bytes before it are lost
	// "six\n", 10 bytes before it are lost
}
