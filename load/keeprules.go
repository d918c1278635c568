package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/rules"
)

// KeepRules adds rules that allow to the user's file and returns its name. It makes the file if
// there is none. Several processes may call it at once. A file that it does not understand stays as
// it is.
func KeepRules(ctx context.Context, getenv func(string) string, allow []string) (file string, err error) {
	if file, err = UserRules(getenv); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	dir, err := env.NewLocal(filepath.Dir(file), env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	unlock, err := dir.Lock(ctx, file)
	if err != nil {
		return "", err
	}
	defer unlock()
	return file, addRules(ctx, dir, file, allow)
}

// addRules adds the rules to the file, which the caller has locked.
func addRules(ctx context.Context, dir *env.Local, file string, allow []string) error {
	was, err := readKept(ctx, dir, file)
	if err != nil {
		return err
	}
	now, err := withRules(was, allow)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	hash := env.NoFile
	if was != nil {
		hash = env.HashOf(was)
	}
	if err := dir.Replace(ctx, file, hash, now, 0o600); err != nil {
		return err
	}
	return dir.Chmod(ctx, file, 0o600)
}

// readKept returns the content of the file, or nil if it does not exist.
func readKept(ctx context.Context, dir *env.Local, file string) (data []byte, err error) {
	f, err := dir.Open(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if data, err = io.ReadAll(io.LimitReader(f, rules.MaxFile+1)); len(data) > rules.MaxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", file, rules.MaxFile)
	}
	return data, err
}

// withRules returns a file of rules with more rules that allow. The other members stay as they are.
func withRules(data []byte, allow []string) ([]byte, error) {
	file, permissions, list := map[string]json.RawMessage{}, map[string]json.RawMessage{}, []json.RawMessage{}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) > 0 {
		if err := json.Unmarshal(data, &file); err != nil {
			return nil, err
		}
	}
	if raw, ok := file["permissions"]; ok {
		if err := json.Unmarshal(raw, &permissions); err != nil {
			return nil, fmt.Errorf("permissions: %w", err)
		}
	}
	if raw, ok := permissions["allow"]; ok {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("permissions.allow: %w", err)
		}
	}
	if file == nil || permissions == nil { // null
		return nil, errors.New("it holds null where an object is expected")
	}
	for _, rule := range allow {
		added, err := plainJSON(rule)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(list, func(have json.RawMessage) bool { return bytes.Equal(have, added) }) {
			list = append(list, added)
		}
	}
	var err error
	if permissions["allow"], err = plainJSON(list); err != nil {
		return nil, err
	}
	if file["permissions"], err = plainJSON(permissions); err != nil {
		return nil, err
	}
	whole, err := plainJSON(file)
	if err != nil {
		return nil, err
	}
	var shown bytes.Buffer
	err = json.Indent(&shown, whole, "", "  ")
	shown.WriteByte('\n')
	return shown.Bytes(), err
}

// plainJSON returns a value as JSON that leaves <, > and & as they are.
func plainJSON(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSpace(b.Bytes()), err
}
