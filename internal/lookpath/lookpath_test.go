package lookpath

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// A program in a directory of a session is not found, nor one to which a link leads there.
func TestU15_ProgramsOfASession(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("programs have other names there")
	}
	dir := t.TempDir()
	put := func(name string) string {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("#!/bin/sh\n"),
			0o755)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	inside, outside := put("work/.venv/bin/git"), put("usr/git")
	if err := errors.Join(os.Mkdir(dir+"/links", 0o755), os.Symlink(inside, dir+"/links/git"),
		os.Symlink(dir+"/work/.venv/bin", dir+"/bin")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Dir(inside) + ":work/.venv/bin::" + dir + "/bin:" + dir + "/links:" + filepath.Dir(outside)
	if got, err := Find("git", path, dir+"/work"); err != nil || got != outside {
		t.Errorf("%s, %v", got, err)
	}
	if got := Outside(path, dir+"/work"); got != dir+"/links:"+filepath.Dir(outside) {
		t.Error(got)
	}
	if _, err := Find("bwrap", path, dir); !errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
	put("work/.venv/bin/sh")
	if got, err := System("sh", path, dir+"/work"); err != nil || got != "/bin/sh" {
		t.Errorf("a program of the system: %s, %v", got, err)
	}
	inside, outside = put("work/.venv/bin/elsewhere"), put("usr/elsewhere")
	if got, err := System("elsewhere", path, dir+"/work"); err != nil || got != outside {
		t.Errorf("a program of a system that has it elsewhere: %s, %v", got, err)
	}
	if got, err := System("elsewhere", filepath.Dir(inside), dir+"/work"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a program of a session: %s, %v", got, err)
	}
}
