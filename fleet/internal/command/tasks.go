package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/texts"
)

// The limits of a file of tasks.
const (
	maxTaskLine  = 1 << 20 // bytes
	maxTasks     = 100_000
	maxLineFault = 50 // errors that are shown
)

// readTasks reads tasks, one JSON object a line. It skips empty lines and repeated tasks. The error
// has all mistakes, each with its line. check completes a task and returns what is wrong with it.
func readTasks(r io.Reader, name string, check func(*fleet.Task) error) ([]fleet.Task, error) {
	foreign := false
	tasks, err := readLines(r, name, func(line []byte) (fleet.Task, []error) {
		foreign = foreign || isInstance(line)
		return parseTask(line, check)
	})
	if foreign {
		return nil, fmt.Errorf("%s has instances of SWE-bench: run them with attractor-fleet batch --format %s", name,
			formatSWE)
	}
	return tasks, err
}

// readLines reads tasks from lines, as readTasks does.
func readLines(r io.Reader, name string, parse func(line []byte) (fleet.Task, []error)) ([]fleet.Task, error) {
	list := taskList{name: name, parse: parse, places: map[string]place{}}
	data, err := io.ReadAll(r)
	if errors.Is(err, syscall.EISDIR) {
		return nil, fmt.Errorf("%s is a directory: name a file with a task a line; a directory of tasks is one of "+
			"Terminal-Bench, which attractor-fleet batch --format %s runs", name, formatTerminal)
	} else if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		return nil, fmt.Errorf("%s is a JSON array: write one object a line, as jq -c '.[]' does", name)
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSpace(line)
		switch {
		case len(line) > maxTaskLine:
			list.fault(number, fmt.Errorf("is longer than %d bytes: put long texts into files of the repository",
				maxTaskLine))
		case len(line) > 0:
			list.add(number, line)
		}
	}
	if len(list.tasks) == 0 && len(list.faults) == 0 {
		return nil, fmt.Errorf(`%s has no tasks; a task is a line such as {"id":"fix-1","prompt":"fix the failing test"}`, name)
	}
	return list.tasks, list.err()
}

// taskList holds the tasks of a file, and its mistakes.
type taskList struct {
	name   string
	parse  func(line []byte) (fleet.Task, []error)
	tasks  []fleet.Task
	places map[string]place // by id
	faults []error
}

// place is where a task is in a file, and in the list.
type place struct{ line, index int }

// fault adds a mistake of a line.
func (l *taskList) fault(line int, err error) {
	l.faults = append(l.faults, fmt.Errorf("%s:%d: %w", l.name, line, err))
}

// err returns all mistakes, or nil.
func (l *taskList) err() error {
	if more := len(l.faults) - maxLineFault; more > 0 {
		return errors.Join(append(l.faults[:maxLineFault:maxLineFault],
			fmt.Errorf("and %s more", render.Count(more, "mistake")))...)
	}
	return errors.Join(l.faults...)
}

// add adds the task of a line.
func (l *taskList) add(number int, line []byte) {
	t, faults := l.parse(line)
	if len(faults) > 0 {
		for _, err := range faults {
			l.fault(number, err)
		}
		return
	}
	if before, ok := l.places[t.ID]; ok {
		if !reflect.DeepEqual(l.tasks[before.index], t) {
			l.fault(number, fmt.Errorf("id: %q is also that of line %d, whose task is another one", t.ID, before.line))
		}
		return
	}
	if len(l.tasks) == maxTasks {
		l.fault(number, fmt.Errorf("one file can have at most %d tasks", maxTasks))
		return
	}
	l.places[t.ID] = place{number, len(l.tasks)}
	l.tasks = append(l.tasks, t)
}

// parseTask returns the task of a JSON object, or all its mistakes.
func parseTask(data []byte, check func(*fleet.Task) error) (t fleet.Task, faults []error) {
	p := taskParser{}
	p.object("", data, &t, map[string]func() any{
		"repo":   func() any { t.Repo = new(fleet.Repo); return t.Repo },
		"agent":  func() any { return &t.Agent },
		"budget": func() any { return &t.Budget },
		"eval":   func() any { t.Eval = new(fleet.Eval); return t.Eval },
	})
	if len(p.faults) > 0 {
		return t, p.faults
	}
	return t, faultsOf(check(&t))
}

// faultsOf returns the errors of a task one by one.
func faultsOf(err error) []error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return list.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}

// taskParser collects the mistakes in an object.
type taskParser struct{ faults []error }

func (p *taskParser) fault(field, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if field != "" {
		text = field + ": " + text
	}
	p.faults = append(p.faults, errors.New(text))
}

// object reads the members of an object into a struct, each by itself, so that all mistakes are
// found. Members with structs of their own are read into what within returns.
func (p *taskParser) object(path string, data []byte, into any, within map[string]func() any) {
	if err := json.Unmarshal(data, &map[string]json.RawMessage{}); err != nil {
		why := ""
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			why = ": " + err.Error()
		}
		p.fault(strings.TrimSuffix(path, "."), "is not a JSON object, such as {...}%s", why)
		return
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	_, err := dec.Token() // the brace
	for seen := map[string]bool{}; err == nil && dec.More(); {
		var name json.Token
		var value json.RawMessage
		if name, err = dec.Token(); err == nil {
			err = dec.Decode(&value)
		}
		key := fmt.Sprint(name)
		if seen[key] {
			p.fault(path+key, "is there twice")
		}
		seen[key] = true
		if open := within[key]; open != nil && string(value) != "null" {
			p.object(path+key+".", value, open(), nil)
		} else {
			p.member(path+key, key, value, into)
		}
	}
}

// member reads one member into a struct.
func (p *taskParser) member(field, key string, value json.RawMessage, into any) {
	known := fieldsOf(into)
	if !slices.Contains(known, key) {
		p.fault(field, "there is no such field; the fields are %s", strings.Join(known, ", "))
		return
	}
	name, err := json.Marshal(key)
	if err == nil {
		err = json.Unmarshal(slices.Concat([]byte("{"), name, []byte(":"), value, []byte("}")), into)
	}
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		p.fault(field, "must be %s, not a JSON %s", jsonName(wrong.Type), wrong.Value)
	case err != nil:
		p.fault(field, "%v", err)
	}
}

// fieldsOf returns the names of a struct's fields in JSON.
func fieldsOf(pointer any) (names []string) {
	t := reflect.TypeOf(pointer).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// jsonName returns a name for the JSON that a field of a task is read from.
func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		return texts.JSONType(t) + " of strings"
	case reflect.Struct:
		return "a string such as 10m or 2026-01-02T15:04:05Z"
	}
	return texts.JSONType(t)
}
