//go:build unix

package envtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
)

type mutator = func(t *testing.T, e env.Environment) env.Environment

// changed returns a mutator that does not need the test.
func changed(how func(e env.Environment) mutant) mutator {
	return func(_ *testing.T, e env.Environment) env.Environment {
		s := how(e)
		s.Environment = e
		return s
	}
}

func contentMutations() []mutation {
	return []mutation{
		{defect: "relative working directory", check: "D1_WorkDirIsAbsolute",
			mutate: changed(func(env.Environment) mutant {
				return mutant{workDir: "work"}
			})},
		{defect: "no platform", check: "D1_WorkDirIsAbsolute", mutate: changed(func(env.Environment) mutant {
			return mutant{platform: &env.Platform{}}
		})},
		{defect: "line ends are changed", check: "D1_ContentIsRawBytes",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{open: content(e, func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") })}
			})},
		{defect: "lines are numbered", check: "D1_ContentIsRawBytes", mutate: changed(func(e env.Environment) mutant {
			return mutant{open: content(e, func(s string) string { return "1 | " + s })}
		})},
		{defect: "long content is cut", check: "D1_ContentIsRawBytes", mutate: changed(func(e env.Environment) mutant {
			return mutant{open: content(e, func(s string) string { return s[:min(len(s), 1<<20)] })}
		})},
		{defect: "invalid UTF-8 is replaced", check: "D1_ContentIsRawBytes",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{write: func(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
					return e.WriteFile(ctx, name, []byte(strings.ToValidUTF8(string(data), "?")), perm)
				}}
			})},
	}
}

func errorMutations() []mutation {
	return []mutation{
		{defect: "Open's errors are texts", check: "D1_MissingIsErrNotExist",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{open: func(ctx context.Context, name string) (io.ReadCloser, error) {
					f, err := e.Open(ctx, name)
					return f, mute(err)
				}}
			})},
		{defect: "Stat's errors are texts", check: "D1_MissingIsErrNotExist",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{stat: func(ctx context.Context, name string) (env.Info, error) {
					info, err := e.Stat(ctx, name)
					return info, mute(err)
				}}
			})},
		{defect: "what is missing is empty", check: "D1_MissingIsErrNotExist",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{readDir: func(ctx context.Context, name string) ([]env.Info, error) {
					list, err := e.ReadDir(ctx, name)
					if errors.Is(err, fs.ErrNotExist) {
						err = nil
					}
					return list, err
				}}
			})},
		{defect: "a refusal is a text", check: "D1_NoAccessIsErrPermission",
			mutate: changed(func(e env.Environment) mutant {
				refused := errors.New("access denied")
				return mutant{
					open:    func(context.Context, string) (io.ReadCloser, error) { return nil, refused },
					readDir: func(context.Context, string) ([]env.Info, error) { return nil, refused },
				}
			})},
	}
}

func kindMutations() []mutation {
	return []mutation{
		{defect: "directories open", check: "D1_DirectoryIsNoFile", mutate: changed(func(e env.Environment) mutant {
			return mutant{open: func(_ context.Context, name string) (io.ReadCloser,
				error) {
				return os.Open(pathOf(e, name))
			}}
		})},
		{defect: "files are listed", check: "D1_DirectoryIsNoFile", mutate: changed(func(e env.Environment) mutant {
			return mutant{readDir: func(ctx context.Context, name string) ([]env.Info, error) {
				if info, err := e.Stat(ctx, name); err == nil && !info.IsDir() {
					return []env.Info{info}, nil
				}
				return e.ReadDir(ctx, name)
			}}
		})},
		{defect: "Open waits for a writer", check: "D1_FIFOIsNoFile",
			mutate: func(t *testing.T, e env.Environment) env.Environment {
				return mutant{Environment: e, open: blockingOpen(t, e)}
			}},
		{defect: "FIFOs are files", check: "D1_FIFOIsNoFile", mutate: changed(func(e env.Environment) mutant {
			return mutant{stat: described(e, func(i *env.Info) { i.Mode &^= fs.ModeNamedPipe })}
		})},
	}
}

func infoMutations() []mutation {
	return []mutation{
		{defect: "the name is the path", check: "D1_StatDescribes", mutate: changed(func(e env.Environment) mutant {
			return mutant{stat: func(ctx context.Context, name string) (env.Info, error) {
				info, err := e.Stat(ctx, name)
				info.Name = name
				return info, err
			}}
		})},
		{defect: "no size", check: "D1_StatDescribes", mutate: changed(func(e env.Environment) mutant {
			return mutant{stat: described(e, func(i *env.Info) { i.Size = 0 })}
		})},
		{defect: "no time", check: "D1_StatDescribes", mutate: changed(func(e env.Environment) mutant {
			return mutant{stat: described(e, func(i *env.Info) { i.ModTime = time.Time{} })}
		})},
		{defect: "directories are files", check: "D1_StatDescribes", mutate: changed(func(e env.Environment) mutant {
			return mutant{stat: described(e, func(i *env.Info) { i.Mode &^= fs.ModeDir })}
		})},
		{defect: "ReadDir gives names alone", check: "D1_StatDescribes",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{readDir: listed(e, func(list []env.Info) []env.Info {
					for i, info := range list {
						list[i] = env.Info{Name: info.Name, Mode: info.Mode}
					}
					return list
				})}
			})},
	}
}

func nameMutations() []mutation {
	return []mutation{
		{defect: "not sorted", check: "D1_ReadDirIsSorted", mutate: changed(func(e env.Environment) mutant {
			return mutant{readDir: listed(e, func(list []env.Info) []env.Info {
				slices.Reverse(list)
				return list
			})}
		})},
		{defect: "sorted without case", check: "D1_ReadDirIsSorted", mutate: changed(func(e env.Environment) mutant {
			return mutant{readDir: listed(e, func(list []env.Info) []env.Info {
				slices.SortStableFunc(list, func(a, b env.Info) int {
					return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
				})
				return list
			})}
		})},
		{defect: "hidden files are left out", check: "D1_ReadDirIsSorted",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{readDir: listed(e, func(list []env.Info) []env.Info {
					return slices.DeleteFunc(list, func(i env.Info) bool { return strings.HasPrefix(i.Name, ".") })
				})}
			})},
		{defect: "absolute names are relative", check: "D1_AbsoluteNames",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{open: func(ctx context.Context, name string) (io.ReadCloser, error) {
					return e.Open(ctx, strings.TrimLeft(name, "/"))
				}}
			})},
		{defect: "names are expanded", check: "D1_NamesAreTakenAsTheyAre",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{write: func(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
					return e.WriteFile(ctx, os.Expand(name, func(string) string { return "home" }), data, perm)
				}}
			})},
		{defect: "names are unescaped", check: "D1_NamesAreTakenAsTheyAre",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{readDir: listed(e, func(list []env.Info) []env.Info {
					for i := range list {
						if name, err := strconv.Unquote(`"` + list[i].Name + `"`); err == nil {
							list[i].Name = name
						}
					}
					return list
				})}
			})},
	}
}

func linkMutations() []mutation {
	return []mutation{
		{defect: "Stat does not follow", check: "D1_LinksAreFollowed", mutate: changed(func(e env.Environment) mutant {
			return mutant{stat: func(_ context.Context, name string) (env.Info, error) {
				fi, err := os.Lstat(pathOf(e, name))
				if err != nil {
					return env.Info{}, err
				}
				return infoOf(fi.Name(), fi), nil
			}}
		})},
		{defect: "Stat names the target", check: "D1_LinksAreFollowed", mutate: changed(func(e env.Environment) mutant {
			return mutant{stat: func(ctx context.Context, name string) (env.Info, error) {
				real, err := filepath.EvalSymlinks(pathOf(e, name))
				if err != nil {
					return env.Info{}, err
				}
				return e.Stat(ctx, real)
			}}
		})},
		{defect: "ReadDir follows", check: "D1_LinksAreFollowed", mutate: changed(func(e env.Environment) mutant {
			return mutant{readDir: listed(e, func(list []env.Info) []env.Info {
				for i := range list {
					list[i].Mode &^= fs.ModeSymlink
				}
				return list
			})}
		})},
		{defect: "links to nowhere are left out", check: "D1_LinksAreFollowed",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{readDir: listed(e, func(list []env.Info) []env.Info {
					return slices.DeleteFunc(list, func(i env.Info) bool {
						_, err := os.Stat(pathOf(e, i.Name))
						return err != nil
					})
				})}
			})},
		{defect: "Stat does not look at its context", check: "D1_EndedContext",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{stat: func(ctx context.Context, name string) (env.Info, error) {
					return e.Stat(context.WithoutCancel(ctx), name)
				}}
			})},
		{defect: "Open tells the context's error and not its cause", check: "D1_EndedContext",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{open: func(ctx context.Context, name string) (io.ReadCloser, error) {
					if err := ctx.Err(); err != nil {
						return nil, err
					}
					return e.Open(ctx, name)
				}}
			})},
	}
}

func writeMutations() []mutation {
	inPlace := changed(func(e env.Environment) mutant {
		return mutant{write: func(_ context.Context, name string, data []byte, perm fs.FileMode) error {
			path := pathOf(e, name)
			return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, perm))
		}}
	})
	return []mutation{
		{defect: "parents are not made", check: "AC4_2_WriteMakesParents",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{write: func(_ context.Context, name string, data []byte, perm fs.FileMode) error {
					return os.WriteFile(pathOf(e, name), data, perm)
				}}
			})},
		{defect: "the new mode is set", check: "D1_ReplaceKeepsMode", mutate: changed(func(e env.Environment) mutant {
			return mutant{write: func(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
				return errors.Join(e.WriteFile(ctx, name, data, perm), os.Chmod(pathOf(e, name), perm))
			}}
		})},
		{defect: "the mode is not set", check: "D1_ReplaceKeepsMode", mutate: changed(func(e env.Environment) mutant {
			return mutant{write: func(ctx context.Context, name string, data []byte, _ fs.FileMode) error {
				return e.WriteFile(ctx, name, data, 0o644)
			}}
		})},
		{defect: "written in place", check: "D1_ReplaceIsAtomic", mutate: inPlace},
		{defect: "written in place, by many", check: "D1_ConcurrentUse",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{write: func(_ context.Context, name string, data []byte, perm fs.FileMode) error {
					path := pathOf(e, name)
					err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
						os.WriteFile(path, data[:len(data)/2], perm))
					time.Sleep(time.Millisecond) // as on a slow disk
					return errors.Join(err, os.WriteFile(path, data, perm))
				}}
			})},
	}
}

func onlyTheFileMutations() []mutation {
	return []mutation{
		{defect: "a backup is left", check: "D1_OnlyFilesAreWritten",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{write: func(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
					return errors.Join(e.WriteFile(ctx, name, data, perm),
						os.WriteFile(pathOf(e, name)+"~", data, perm))
				}}
			})},
		{defect: "a failure leaves a temporary file", check: "D1_OnlyFilesAreWritten",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{write: func(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
					err := e.WriteFile(ctx, name, data, perm)
					if err != nil {
						err = errors.Join(err, os.WriteFile(pathOf(e, name)+".tmp", data, perm))
					}
					return err
				}}
			})},
		{defect: "a slash at the end is dropped", check: "D1_OnlyFilesAreWritten",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{write: func(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
					return e.WriteFile(ctx, strings.TrimRight(name, "/"), data, perm)
				}}
			})},
		{defect: "a file in the way is removed", check: "D1_OnlyFilesAreWritten",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{write: func(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
					parent := filepath.Dir(pathOf(e, name))
					if fi, err := os.Stat(parent); err == nil && !fi.IsDir() {
						if err := os.Remove(parent); err != nil {
							return err
						}
					}
					return e.WriteFile(ctx, name, data, perm)
				}}
			})},
		{defect: "links are replaced", check: "D1_LinksAreWrittenThrough",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{write: func(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
					if fi, err := os.Lstat(pathOf(e, name)); err == nil && fi.Mode().Type() == fs.ModeSymlink {
						if err := os.Remove(pathOf(e, name)); err != nil {
							return err
						}
					}
					return e.WriteFile(ctx, name, data, perm)
				}}
			})},
	}
}

func removeMutations() []mutation {
	return []mutation{
		{defect: "trees are removed", check: "D1_RemoveFileAndEmptyDirectory",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{remove: func(_ context.Context,
					name string) error {
					return os.RemoveAll(pathOf(e, name))
				}}
			})},
		{defect: "directories are not removed", check: "D1_RemoveFileAndEmptyDirectory",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{remove: func(ctx context.Context, name string) error {
					if info, err := e.Stat(ctx, name); err == nil && info.IsDir() {
						return errors.New("is a directory")
					}
					return e.Remove(ctx, name)
				}}
			})},
		{defect: "what is missing is removed", check: "D1_RemoveMissing",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{remove: func(ctx context.Context, name string) error {
					if err := e.Remove(ctx, name); !errors.Is(err, fs.ErrNotExist) {
						return err
					}
					return nil
				}}
			})},
		{defect: "the target is removed", check: "D1_RemoveLink", mutate: changed(func(e env.Environment) mutant {
			return mutant{remove: func(ctx context.Context, name string) error {
				if real, err := filepath.EvalSymlinks(pathOf(e, name)); err == nil {
					name = real
				}
				return e.Remove(ctx, name)
			}}
		})},
		{defect: "WriteFile does not look at its context", check: "D1_WritesEndedContext",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{write: func(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
					return e.WriteFile(context.WithoutCancel(ctx), name, data, perm)
				}}
			})},
		{defect: "Remove does not look at its context", check: "D1_WritesEndedContext",
			mutate: changed(func(e env.Environment) mutant {
				return mutant{remove: func(ctx context.Context,
					name string) error {
					return e.Remove(context.WithoutCancel(ctx), name)
				}}
			})},
		{defect: "the caller's data is kept", check: "D1_DataIsTheCallers",
			mutate: changed(func(env.Environment) mutant {
				var kept []byte
				return mutant{
					write: func(_ context.Context, _ string, data []byte, _ fs.FileMode) error {
						kept = data
						return nil
					},
					open: func(context.Context, string) (io.ReadCloser, error) {
						return io.NopCloser(bytes.NewReader(kept)),
							nil
					},
				}
			})},
		{defect: "it writes all the same", check: "D7_RefusesWriting",
			mutate: changed(func(env.Environment) mutant { return mutant{} })},
	}
}
