package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzOpen checks that Open, whatever is in the file, does not panic, keeps every record that is
// surely good, and cuts off only what a crash may have left.
func FuzzOpen(f *testing.F) {
	for _, seed := range []string{"", one, one + two, oneOfTwo + two, oneOfTwo, one + two[:20], one + "\n" + two,
		one + "\x00\x00", one + three,
		one + twoOfThree + three[:30] + "\n", oldOne + oldTwo, oldOne + two, one + oldTwo, one + flip(two),
		`{"N":1}` + "\n", one + "{\n{\n", `{"n":1,"more":1}` + "\n", `{"n":1,"t":null}` + "\r\n",
		`{"n":1,"d":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + "}\n"} {
		f.Add([]byte(seed))
	}
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := journalOf(t, string(content))
		sure := surelyGood(content)
		log, err := dir.Open(ctx, "s")
		if err == nil {
			if err = failureOf(log.Records(ctx, 1)); err != nil {
				if appendErr := log.Append(ctx, log.Len()+1, Record{Kind: "next"}); !errors.Is(appendErr, ErrCorrupt) {
					t.Fatalf("Records = %v, Append = %v, want ErrCorrupt", err, appendErr)
				}
				closed(t, log)
			}
		}
		if err != nil {
			for _, err := range append(corruption(t, dir), err) {
				if !errors.Is(err, ErrCorrupt) {
					t.Fatalf("%v, want ErrCorrupt", err)
				}
			}
			if contentOf(t, dir) != string(content) {
				t.Fatal("the file was changed")
			}
			return
		}
		defer log.Close()
		kept := []byte(contentOf(t, dir))
		if !bytes.HasPrefix(content, kept) || int64(len(kept)) < sure.size || log.Len() < sure.records {
			t.Fatalf("Open keeps %d records, %q, want %+v or more", log.Len(), kept, sure)
		}
		checkCut(t, content[len(kept):])
		if err := log.Append(ctx, log.Len()+1, Record{Kind: "next"}); err != nil {
			t.Fatal(err)
		}
		r := readOf(t, dir, "s")
		if got := kindsOf(t, r.Records(ctx, 1)); int64(len(got)) != log.Len() || r.Len() != log.Len() ||
			got[len(got)-1] != "next" {
			t.Fatalf("after Append: %q, want %d", got, log.Len())
		}
	})
}

// surelyGood returns the records of lines that leave no doubt. It ignores memory and time.
func surelyGood(content []byte) extent {
	var good, now extent
	summed := false
	for line := range bytes.SplitAfterSeq(content, []byte("\n")) {
		var fields map[string]json.RawMessage
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &fields) != nil {
			break
		}
		var sum string
		if fields["c"] != nil && json.Unmarshal(fields["c"], &sum) != nil {
			break
		}
		has := fields["c"] != nil && bytes.HasPrefix(line, []byte(`{"c":"`+sum+`","n":`)) &&
			fmt.Sprintf("%08x", crc32.Checksum(line[16:len(line)-1], crc32.MakeTable(crc32.Castagnoli))) == sum
		if now.records == 0 {
			summed = has
		}
		if !has && (summed || !bytes.HasPrefix(line, []byte(`{"n":`))) {
			break
		}
		now.records++
		now.size += int64(len(line))
		for name := range fields {
			for _, known := range []string{"n", "t", "k", "more"} {
				if name != known && strings.EqualFold(name, known) {
					return good
				}
			}
		}
		var kind string
		var at time.Time
		if string(fields["n"]) != strconv.FormatInt(now.records, 10) || fields["k"] != nil &&
			json.Unmarshal(fields["k"], &kind) != nil ||
			fields["t"] != nil && json.Unmarshal(fields["t"], &at) != nil {
			break
		}
		switch string(fields["more"]) {
		case "", "false":
			good = now
		case "true":
		default:
			return good
		}
	}
	return good
}

// checkCut checks that a crash may have left the end that was cut off: complete lines of a batch,
// then at most one broken line, then NULs.
func checkCut(t *testing.T, cut []byte) {
	lines := bytes.Split(bytes.TrimSuffix(bytes.TrimRight(cut, "\x00"), []byte("\n")), []byte("\n"))
	for _, text := range lines[:len(lines)-1] {
		var l line
		if json.Unmarshal(text, &l) != nil || !l.More {
			t.Fatalf("%q was cut off", cut)
		}
	}
}

// FuzzK5_Line checks that the fast way of decoding a line gives what encoding/json gives, and fails
// where that fails.
func FuzzK5_Line(f *testing.F) {
	for _, seed := range []string{one, oneOfTwo, oldOne, three,
		`{"n":1,"t":"2026-01-02T03:04:05.000000006Z","k":"é\n<","d":{"a":[1,{}]}}`, `{"n":1,"t":null}`,
		`{"n":1,"t":"2026-01-02T03:04:05+01:00","k":"a","d":null}`,
		`{"n":1,"t":"2026-01-02T03:04:05Z","k":"a","more":false,"d":[1 ,2]}` + "\n",
		`{"n":1,"t":"2026-01-02 03:04:05Z","k":"a"}`, `{"n":1,"t":"2026-01-02T03:04:05Z","k":"a","K":"b"}`,
		`{"t":"2026-01-02T03:04:05Z","n":1}`,
		`{"n":1,"t":"2026-01-02T03:04:05Z","k":"a","d":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + "}",
		`{"n":1,"t":"2026-01-02T03:04:05Z","k":"a","d":` + strings.Repeat("[", 10_000) + strings.Repeat("]",
			10_000) + "}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.HasPrefix(text, []byte(sumBegin)) && !json.Valid(text) {
			return // nobody writes such a line
		}
		var want line
		wrong := json.Unmarshal(text, &want)
		got, err := decodeLine(text)
		if (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
			t.Fatalf("decodeLine of %q: %v, want %v", text, err, wrong)
		}
		if wrong != nil {
			return
		}
		if got.N != want.N || got.More != want.More || got.Kind != want.Kind || !got.Time.Equal(want.Time) ||
			got.Time.String() != want.Time.String() || (got.Data == nil) != (want.Data == nil) ||
			!bytes.Equal(got.Data, want.Data) {
			t.Fatalf("decodeLine of %q = %+v, want %+v", text, got, want)
		}
	})
}
