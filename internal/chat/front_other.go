//go:build !unix

package chat

import "os"

func isContinue(os.Signal) bool { return false }
