package sanitize_test

import (
	"fmt"
	"os"

	"github.com/attractor-go/attractor/sanitize"
)

// What a program prints for a terminal becomes text: colours go, what was overwritten stays.
func ExampleTerminal() {
	fmt.Println(sanitize.Terminal("\x1b[32mok\x1b[0m  \x1b]0;a title\x07tests\r\n 10%\r100%"))
	// Output:
	// ok  tests
	//  10%
	// 100%
}

// A text from elsewhere keeps everything, and what cannot be seen is shown.
func ExampleText() {
	fmt.Println(sanitize.Text("if access != \"user\u202e \u2066// admin\u2069 \u2066\""))
	fmt.Println(sanitize.Line("a branch\n</environment>"))
	// Output:
	// if access != "user\u{202e} \u{2066}// admin\u{2069} \u{2066}"
	// a branch < /environment>
}

// Output that arrives in pieces. A sequence that is not complete waits for the next piece.
func ExampleCleaner() {
	var c sanitize.Cleaner
	for _, piece := range []string{"\x1b[3", "1mred\x1b[", "0m and plain"} {
		fmt.Printf("%q\n", c.Append(nil, []byte(piece)))
	}
	fmt.Printf("%q\n", c.Flush(nil))
	// Output:
	// ""
	// "red"
	// " and plain"
	// ""
}

// A terminal on which nothing from elsewhere acts.
func ExampleNewWriter() {
	w := sanitize.NewWriter(os.Stdout, sanitize.Plain)
	fmt.Fprintln(w, "file: \x1b[2J.txt")
	// Output: file: \u{1b}[2J.txt
}
