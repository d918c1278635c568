// Command session runs sessions of the library in one process and prints what they cost, as JSON.
//
//	session round URL ROUNDS [DIR [EARLY LATE AROUND]]   a session over HTTP; its journal is in DIR if that is not empty
//	session post URL BYTES TIMES                         posts so many bytes and reads the answer, with net/http alone
//	session write DIR ROUNDS JOURNALS                    writes journals, with a model in the same process
//	session json|resume|replay|project|fork DIR          reads the only journal of a directory
//	session idle URL DIR SESSIONS                        sessions at rest, of one turn each, with 1,024 descriptors at most
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "session:", err)
		os.Exit(1)
	}
}

// figures holds the measurements of a run. Fields that do not apply are empty.
type figures struct {
	CPU, Wall   float64 // µs a round
	Bytes       float64 // allocated a round
	Events      float64 // a round
	Early, Late float64 // CPU of a round early and late in the session, in µs
	Memory      float64 // bytes a session
	Descriptors float64 // of all sessions
	Sessions    int
}

func run(ctx context.Context, args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("see doc comment for the arguments")
	}
	verb, where := args[0], args[1]
	numbers, dir := parse(args[2:])
	var f figures
	var err error
	switch {
	case verb == "round" && len(numbers) > 0:
		f, err = round(ctx, where, dir, numbers)
	case verb == "post" && len(numbers) == 2:
		f, err = post(where, numbers[0], numbers[1])
	case verb == "write" && len(numbers) == 2:
		err = write(ctx, where, numbers[0], numbers[1])
	case verb == "idle" && len(numbers) == 1:
		f, err = idle(ctx, where, dir, numbers[0])
	default:
		f, err = read(ctx, verb, where)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// parse returns the numbers of the arguments, and the one argument that is none.
func parse(args []string) (numbers []int, dir string) {
	for _, a := range args {
		n, err := strconv.Atoi(a)
		if err != nil {
			dir = a
			continue
		}
		numbers = append(numbers, n)
	}
	return numbers, dir
}
