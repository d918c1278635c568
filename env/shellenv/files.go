package shellenv

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
)

// Open implements env.Environment. It reads the whole file at once, so that a broken connection is
// an error and not the end of the file.
func (e *Env) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	out, err := e.run(ctx, "open", name, `[ -e "$f" ] || absent "$f"
[ -f "$f" ] || exit 43
[ -r "$f" ] || exit 42
cat <"$f"`, nil)
	return io.NopCloser(strings.NewReader(out)), err
}

// WriteFile implements env.Environment. An existing file keeps its owner, too, if the remote user
// may give files away.
func (e *Env) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	if strings.HasSuffix(name, "/") {
		return &fs.PathError{Op: "write", Path: name, Err: fs.ErrInvalid}
	}
	_, err := e.run(ctx, "write", name, writeHead(data, perm)+"before() { :; }\n"+writeScript, data)
	return err
}

func writeHead(data []byte, perm fs.FileMode) string {
	return fmt.Sprintf("id=%s size=%d mode=%o\n", rand.Text(), len(data), perm.Perm())
}

// followLinks replaces f by the target of the link that it names.
const followLinks = `n=0
while [ -L "$f" ]; do
	n=$((n + 1)); [ $n -le 40 ] || exit 43
	l=$(readlink "$f"; echo .); l=${l%??}
	case $l in /*) f=$l ;; *) f=${f%/*}/$l ;; esac
done
`

// writeScript writes a temporary file, calls the function before, and renames the file. It checks
// the size, because a broken connection looks like the end of the data.
const writeScript = followLinks + `[ ! -e "$f" ] || [ -f "$f" ] || exit 43
d=${f%/*} t=${f%/*}/.shellenv-$id.tmp
failed() {
	rm -f "$t"
	while [ -n "$d" ] && [ ! -e "$d" ]; do d=${d%/*}; done
	[ -d "$d/" ] || exit 43
	[ -w "$d/" ] && [ -x "$d/" ] || exit 42
	exit 45
}
mkdir -p "$d/" || failed
umask 077
if [ -e "$f" ]; then
	m=$($stat "$format" -L "$f") || failed
	mode=$(printf %o $((0x${m%% *} & 511)))
	{ cp -p "$f" "$t" && chmod u+w "$t"; } 2>/dev/null || rm -f "$t"
fi
cat >"$t" && [ $(wc -c <"$t") -eq $size ] && chmod $mode "$t" && before && mv -f "$t" "$f" || failed`

// Remove implements env.Environment.
func (e *Env) Remove(ctx context.Context, name string) error {
	_, err := e.run(ctx, "remove", name, `if [ -d "$f" ] && [ ! -L "$f" ]; then
	rmdir "$f" && exit
	[ -z "$(ls -A "$f")" ] || exit 44
else
	[ -e "$f" ] || [ -L "$f" ] || absent "$f"
	rm -f "$f" && exit
fi
[ -w "${f%/*}/" ] || exit 42
exit 45`, nil)
	return err
}

// Stat implements env.Environment. Times are whole seconds.
func (e *Env) Stat(ctx context.Context, name string) (env.Info, error) {
	list, err := e.infos(ctx, "stat", name, `[ -e "$f" ] || absent "$f"
$stat "$format" -L "$f"`)
	if err != nil {
		return env.Info{}, err
	}
	list[0].Name = path.Base(path.Join(e.dir, name))
	return list[0], nil
}

// ReadDir implements env.Environment.
func (e *Env) ReadDir(ctx context.Context, name string) ([]env.Info, error) {
	list, err := e.infos(ctx, "readdir", name, `[ -e "$f" ] || absent "$f"
[ -d "$f" ] || exit 43
cd "$f" && [ -r . ] || exit 42
find . ! -name . -prune -exec $stat "$format" {} + || : # an entry may have gone meanwhile`)
	slices.SortFunc(list, func(a, b env.Info) int { return cmp.Compare(a.Name, b.Name) })
	return list, err
}

// infos runs a script that prints the output of stat, and parses it.
func (e *Env) infos(ctx context.Context, op, name, script string) ([]env.Info, error) {
	out, err := e.run(ctx, op, name, script, nil)
	if err != nil {
		return nil, err
	}
	list := []env.Info{}
	for record := range strings.SplitSeq(strings.TrimSuffix(out, "//\n"), "//\n") {
		var mode, size, seconds int64
		fields := strings.SplitN(record, " ", 4)
		if _, err := fmt.Sscanf(record, "%x %d %d", &mode, &size, &seconds); err == nil && len(fields) == 4 {
			list = append(list, env.Info{Name: path.Base(fields[3]), Size: size, Mode: fileMode(mode),
				ModTime: time.Unix(seconds, 0)})
		} else if out != "" {
			return nil, &fs.PathError{Op: op, Path: name, Err: fmt.Errorf("stat printed %q: %w", record, fs.ErrInvalid)}
		}
	}
	return list, nil
}

// fileMode converts the st_mode of Unix systems.
func fileMode(mode int64) fs.FileMode {
	perm := fs.FileMode(mode & 0o777)
	switch mode &^ 0o7777 {
	case 0o100000:
		return perm
	case 0o040000:
		return perm | fs.ModeDir
	case 0o120000:
		return perm | fs.ModeSymlink
	case 0o010000:
		return perm | fs.ModeNamedPipe
	}
	return perm | fs.ModeDevice
}
