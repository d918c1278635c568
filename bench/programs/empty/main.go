// Command empty links net/http and does nothing. It is the least that a Go program with an HTTP
// client costs.
package main

import (
	"net/http"
	"os"
)

func main() {
	if http.DefaultClient == nil {
		os.Exit(1)
	}
}
