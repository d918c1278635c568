package settings

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// limit is one of the limits of commands.
type limit struct {
	name  string
	value *int64
	size  bool // in bytes
}

// limitsOf returns the limits with their names.
func limitsOf(l *env.Limits) []limit {
	return []limit{{"processes", &l.Processes, false}, {"memory", &l.Memory, true}, {"file-size", &l.FileSize, true},
		{"open-files", &l.OpenFiles, false}}
}

// ParseLimits reads limits of commands, separated by commas, such as "processes=500,memory=2g",
// into l. A size has k, m, g or t for 1024 bytes, 1024 k and so on. The value none means no limit.
func ParseLimits(l *env.Limits, text string) (err error) {
	all := limitsOf(l)
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return fmt.Errorf("%q is not a limit; write name=value, such as processes=500 or memory=2g", part)
		}
		at := slices.IndexFunc(all, func(known limit) bool { return known.name == strings.TrimSpace(name) })
		if at < 0 {
			return fmt.Errorf("no limit is called %q; there are processes, memory, file-size and open-files", name)
		}
		if *all[at].value, err = parseLimit(name, value, all[at].size); err != nil {
			return err
		}
	}
	return nil
}

// FormatLimits returns limits as ParseLimits reads them. Those that have their default are left
// out.
func FormatLimits(l env.Limits) string {
	var parts []string
	for _, one := range limitsOf(&l) {
		switch {
		case *one.value < 0:
			parts = append(parts, one.name+"=none")
		case *one.value > 0:
			parts = append(parts, one.name+"="+strconv.FormatInt(*one.value, 10))
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
