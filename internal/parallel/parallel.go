package parallel

import (
	"flag"
	"strconv"
)

// Tests lets n parallel tests of the package run at once, unless the command line says how many.
// TestMain calls it before it runs the tests.
func Tests(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err) // only of a program without the flags of tests
	}
}
