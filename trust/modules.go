package trust

import (
	"path/filepath"
	"slices"
	"strings"
)

// shadowable lists modules of Python that programs load from beside the script, or from the
// directory that they start in, before they look in the library: those of the standard library, and
// those of pre-commit. Others, such as those of packages, are not known.
func shadowable() []string {
	return strings.Fields(`
		abc annotationlib argparse array ast asyncio base64 bdb binascii bisect bz2 cProfile calendar cmath
		cmd code codecs codeop collections colorsys compileall compression concurrent configparser
		contextlib contextvars copy copyreg csv ctypes curses dataclasses datetime dbm decimal difflib dis
		distutils doctest email encodings enum fcntl filecmp fileinput fnmatch fractions ftplib functools
		genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http imaplib imp
		importlib inspect io ipaddress json keyword linecache locale logging lzma mailbox math mimetypes
		mmap modulefinder multiprocessing netrc ntpath nturl2path numbers opcode operator optparse os
		pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posixpath pprint profile
		pstats pty py_compile pydoc pyexpat queue quopri random re readline reprlib resource rlcompleter
		runpy sched secrets select selectors shelve shlex shutil signal site smtplib socket socketserver
		sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess
		symtable sysconfig syslog tarfile tempfile termios textwrap threading timeit token tokenize tomllib
		trace traceback tracemalloc tty types typing unicodedata unittest urllib uu uuid warnings weakref
		webbrowser wsgiref xml xmlrpc zipfile zipimport zlib zoneinfo
		cfgv identify nodeenv virtualenv yaml`)
}

// isPython reports whether a program is Python.
func isPython(program string) bool {
	return strings.HasPrefix(program, "python") || strings.HasPrefix(program, "pypy")
}

// loads notes the directories from which Python loads modules first, if it runs a module or a text.
func (w *watcher) loads(words, dirs []string) {
	for _, word := range words[1:] {
		switch {
		case strings.HasPrefix(word, "-m"), strings.HasPrefix(word, "-c"):
			w.modules = append(w.modules, dirs...)
			return
		case !strings.HasPrefix(word, "-"):
			return
		}
	}
}

// loadsBeside notes the directory of a script of Python, from where it loads modules first.
func (w *watcher) loadsBeside(file string, data []byte) {
	line, _, _ := strings.Cut(string(data[:min(len(data), 200)]), "\n")
	if filepath.Ext(file) == ".py" || strings.HasPrefix(line, "#!") && strings.Contains(line, "python") {
		w.modules = append(w.modules, filepath.Dir(file))
	}
}

// shadows returns the files that would be loaded from directories instead of modules of Python.
// Most do not exist.
func shadows(root string, dirs []string) (files []string) {
	dirs = slices.Clone(dirs)
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		if dir != root && inside(root, root, dir) == "" {
			continue
		}
		for _, name := range shadowable() {
			files = append(files, filepath.Join(dir, name+".py"), filepath.Join(dir, name, "__init__.py"))
		}
	}
	return files
}
