package settings

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// ParseLimits reads limits of commands, separated by commas, such as "processes=500,memory=2g",
// into l. A size has k, m, g or t for 1024 bytes, 1024 k and so on. The value none means no limit.
func ParseLimits(l *env.Limits, text string) error {
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return fmt.Errorf("%q is not a limit; write name=value, such as processes=500 or memory=2g", part)
		}
		var err error
		switch strings.TrimSpace(name) {
		case "processes":
			l.Processes, err = parseLimit(name, value, false)
		case "memory":
			l.Memory, err = parseLimit(name, value, true)
		case "file-size":
			l.FileSize, err = parseLimit(name, value, true)
		case "open-files":
			l.OpenFiles, err = parseLimit(name, value, false)
		default:
			return fmt.Errorf("no limit is called %q; there are processes, memory, file-size and open-files", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// FormatLimits returns limits as ParseLimits reads them. Those that have their default are left
// out.
func FormatLimits(l env.Limits) string {
	var parts []string
	for _, part := range []struct {
		name  string
		value int64
	}{{"processes", l.Processes}, {"memory", l.Memory}, {"file-size", l.FileSize}, {"open-files", l.OpenFiles}} {
		switch {
		case part.value < 0:
			parts = append(parts, part.name+"=none")
		case part.value > 0:
			parts = append(parts, part.name+"="+strconv.FormatInt(part.value, 10))
		}
	}
	return strings.Join(parts, ",")
}

// parseLimit reads the value of a limit, which may be a size. It returns -1 for none.
func parseLimit(name, value string, size bool) (int64, error) {
	digits, factor, form := strings.ToLower(strings.TrimSpace(value)), int64(1),
		"a number from 1 on, such as 500, or none"
	if digits == "none" {
		return -1, nil
	}
	if size {
		form = "a size, such as 512m or 2g, or none"
		digits = strings.TrimSuffix(strings.TrimSuffix(digits, "b"), "i")
		if n := len(digits); n > 0 {
			if power := strings.IndexByte("kmgt", digits[n-1]); power >= 0 {
				digits, factor = digits[:n-1], 1<<(10*(power+1))
			}
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%s is %q; it must be %s", name, value, form)
	}
	return n * factor, nil
}
