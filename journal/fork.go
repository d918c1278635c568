package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Fork implements [Store]. It shares blobs by hard links if the file system has them.
func (d *Dir) Fork(ctx context.Context, from, to string, n int64, edit func(*Record) error) (Log, error) {
	if err := errors.Join(CheckID(to), d.exists(from)); err != nil {
		return nil, err
	}
	return d.locked(ctx, to, func(lock *lockFile) (*fileLog, error) {
		lines := d.file(to, linesExt)
		if _, err := d.sys.stat(lines); err == nil {
			return nil, fs.ErrExist
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		// of a fork that was killed; without links, one of them may be incomplete
		err := d.sys.removeAll(d.file(to, blobsExt))
		if err == nil {
			err = d.copyAll(ctx, from, to, n, edit)
		}
		if err == nil {
			var f *fileLog
			if f, err = d.openFile(ctx, to, lock, os.O_RDWR); err == nil {
				f.checked = true
				return f, nil
			}
		}
		return nil, errors.Join(err, d.discard(d.file(to, tempExt)), d.discard(lines),
			d.sys.removeAll(d.file(to, blobsExt)))
	})
}

// copyAll copies the blobs, then the records to a temporary file, and renames that as the last
// step.
func (d *Dir) copyAll(ctx context.Context, from, to string, n int64, edit func(*Record) error) (err error) {
	source, err := d.read(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if n < 1 || n > source.Len() {
		return source.errorf("cannot copy %d records of %d: %w", n, source.Len(), fs.ErrInvalid)
	}
	if err := d.copyBlobs(ctx, from, to); err != nil {
		return err
	}
	temp := d.file(to, tempExt)
	if err := d.copyLines(ctx, source, temp, n, edit); err != nil {
		return err
	}
	if err := d.sys.rename(temp, d.file(to, linesExt)); err != nil {
		return err
	}
	return d.sys.syncDir(d.path)
}

// copyLines writes the first n records of a journal to a file. The last one ends its append.
func (d *Dir) copyLines(ctx context.Context, source *fileReader, path string, n int64,
	edit func(*Record) error) (err error) {
	h, err := d.sys.open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	out := bufio.NewWriterSize(io.NewOffsetWriter(h, 0), 64<<10)
	in := newLines(io.NewSectionReader(source.file, 0, source.good.size))
	for in.line < n {
		text, err := in.good(ctx)
		var read line
		if err == nil {
			read, err = in.decode(text)
		}
		if err != nil {
			return source.errorf("%w", err)
		}
		if edit != nil {
			if err := edit(&read.Record); err != nil {
				return err
			}
		}
		var b bytes.Buffer
		if err := encodeLine(&b, in.line, read.Record, read.More && in.line < n); err != nil {
			return fmt.Errorf("record %d (%s): %w", in.line, read.Kind, err)
		}
		if _, err := out.Write(b.Bytes()); err != nil {
			return err
		}
	}
	if n == source.good.records && in.next < source.good.size {
		in.line, in.at = in.line+1, in.next
		return source.errorf("%w", in.corrupt(misnumbered(n, n+1)))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return h.sync()
}

// copyBlobs copies the blobs of a journal to another. They never change, so the two can share the
// files.
func (d *Dir) copyBlobs(ctx context.Context, from, to string) error {
	source, target := d.file(from, blobsExt), d.file(to, blobsExt)
	files, err := d.sys.readDir(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := d.sys.mkdir(target); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !IsHash(file.Name()) {
			continue
		}
		if err := d.copyBlob(filepath.Join(source, file.Name()), filepath.Join(target, file.Name())); err != nil {
			return err
		}
	}
	return d.sys.syncDir(target)
}

func (d *Dir) copyBlob(from, to string) error {
	err := d.sys.link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	data, err := openBlob(d.sys, from) // the file system has no links
	if err != nil {
		return err
	}
	return errors.Join(writeFile(d.sys, to, data), data.Close())
}
