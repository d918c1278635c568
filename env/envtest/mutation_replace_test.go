//go:build unix

package envtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// shared replaces some methods for concurrent changes.
type shared struct {
	*env.Local
	replace func(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error
	remove  func(ctx context.Context, name string, was env.Hash) error
	lock    func(ctx context.Context, names ...string) (func(), error)
	resolve func(ctx context.Context, name string) (string, error)
}

func (s shared) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	if s.replace != nil {
		return s.replace(ctx, name, was, data, perm)
	}
	return s.Local.Replace(ctx, name, was, data, perm)
}

func (s shared) Delete(ctx context.Context, name string, was env.Hash) error {
	if s.remove != nil {
		return s.remove(ctx, name, was)
	}
	return s.Local.Delete(ctx, name, was)
}

func (s shared) Lock(ctx context.Context, names ...string) (func(), error) {
	if s.lock != nil {
		return s.lock(ctx, names...)
	}
	return s.Local.Lock(ctx, names...)
}

func (s shared) Resolve(ctx context.Context, name string) (string, error) {
	if s.resolve != nil {
		return s.resolve(ctx, name)
	}
	return s.Local.Resolve(ctx, name)
}

// mutateShared returns a mutator for concurrent changes.
func mutateShared(how func(l *env.Local) shared) mutator {
	return func(t *testing.T, e env.Environment) env.Environment {
		l, ok := e.(*env.Local)
		if !ok {
			t.Fatalf("%T is not a Local", e)
		}
		s := how(l)
		s.Local = l
		return s
	}
}

func replaceMutations() []mutation {
	return []mutation{
		{defect: "nothing is compared", check: "J9_ReplaceComparesContents",
			mutate: mutateShared(func(l *env.Local) shared {
				return shared{replace: func(ctx context.Context, name string, _ env.Hash, data []byte,
					perm fs.FileMode) error {
					return l.WriteFile(ctx, name, data, perm)
				}}
			})},
		{defect: "an empty file is none", check: "J9_ReplaceComparesContents",
			mutate: mutateShared(func(l *env.Local) shared {
				return shared{replace: func(ctx context.Context, name string, was env.Hash, data []byte,
					perm fs.FileMode) error {
					if info, err := l.Stat(ctx, name); err == nil && info.Size == 0 && was == env.NoFile {
						was = env.HashOf(nil)
					}
					return l.Replace(ctx, name, was, data, perm)
				}}
			})},
		{defect: "sizes are compared", check: "J9_ReplaceComparesContents",
			mutate: mutateShared(func(l *env.Local) shared {
				return shared{replace: func(ctx context.Context, name string, was env.Hash, data []byte,
					perm fs.FileMode) error {
					now, err := env.HashFile(ctx, l, name)
					if err == nil && now != was && len(now) == len(was) {
						if info, err := l.Stat(ctx, name); err == nil && info.Size == 4 {
							was = now
						}
					}
					return l.Replace(ctx, name, was, data, perm)
				}}
			})},
		{defect: "a conflict is a text", check: "J9_ReplaceComparesContents",
			mutate: mutateShared(func(l *env.Local) shared {
				return shared{replace: func(ctx context.Context, name string, was env.Hash, data []byte,
					perm fs.FileMode) error {
					return mute(l.Replace(ctx, name, was, data, perm))
				}}
			})},
		{defect: "what has gone is made again", check: "J9_ReplaceMakesFiles",
			mutate: mutateShared(func(l *env.Local) shared {
				return shared{replace: func(ctx context.Context, name string, was env.Hash, data []byte,
					perm fs.FileMode) error {
					if _, err := l.Stat(ctx, name); errors.Is(err, fs.ErrNotExist) {
						was = env.NoFile
					}
					return l.Replace(ctx, name, was, data, perm)
				}}
			})},
		{defect: "parents are not made", check: "J9_ReplaceMakesFiles", mutate: mutateShared(func(l *env.Local) shared {
			return shared{replace: func(ctx context.Context, name string, was env.Hash, data []byte,
				perm fs.FileMode) error {
				if _, err := l.Stat(ctx, path.Dir(name)); err != nil {
					return errors.Join(err, env.ErrChanged)
				}
				return l.Replace(ctx, name, was, data, perm)
			}}
		})},
		{defect: "the new mode is set", check: "J9_ReplaceKeepsMode", mutate: mutateShared(func(l *env.Local) shared {
			return shared{replace: func(ctx context.Context, name string, was env.Hash, data []byte,
				perm fs.FileMode) error {
				return errors.Join(l.Replace(ctx, name, was, data, perm), os.Chmod(pathOf(l, name), perm))
			}}
		})},
	}
}

func deleteMutations() []mutation {
	return []mutation{
		{defect: "nothing is compared", check: "J9_DeleteComparesContents",
			mutate: mutateShared(func(l *env.Local) shared {
				return shared{remove: func(ctx context.Context, name string, _ env.Hash) error {
					return l.Remove(ctx, name)
				}}
			})},
		{defect: "what is not there was deleted", check: "J9_DeleteComparesContents",
			mutate: mutateShared(func(l *env.Local) shared {
				return shared{remove: func(ctx context.Context, name string, was env.Hash) error {
					if _, err := l.Stat(ctx, name); errors.Is(err, fs.ErrNotExist) {
						return nil
					}
					return l.Delete(ctx, name, was)
				}}
			})},
		{defect: "links are replaced", check: "J9_ReplaceThroughLinks", mutate: mutateShared(func(l *env.Local) shared {
			return shared{replace: func(ctx context.Context, name string, was env.Hash, data []byte,
				perm fs.FileMode) error {
				if fi, err := os.Lstat(pathOf(l, name)); err == nil && fi.Mode().Type() == fs.ModeSymlink {
					return errors.Join(os.Remove(pathOf(l, name)), os.WriteFile(pathOf(l, name), data, perm))
				}
				return l.Replace(ctx, name, was, data, perm)
			}}
		})},
		{defect: "the target is deleted", check: "J9_ReplaceThroughLinks",
			mutate: mutateShared(func(l *env.Local) shared {
				return shared{remove: func(ctx context.Context, name string, was env.Hash) error {
					to, err := l.Resolve(ctx, name)
					return errors.Join(err, l.Delete(ctx, to, was))
				}}
			})},
		{defect: "compared before and written after", check: "J9_NoReplacementIsLost",
			mutate: mutateShared(func(l *env.Local) shared {
				both := newMeeting()
				return shared{replace: func(ctx context.Context, name string, was env.Hash, data []byte,
					perm fs.FileMode) error {
					if now, err := env.HashFile(ctx, l, name); err != nil || now != was {
						return errors.Join(err, env.ErrChanged)
					}
					both.wait()
					return l.WriteFile(ctx, name, data, perm)
				}}
			})},
		{defect: "Replace does not look at its context", check: "J9_ReplaceEndedContext",
			mutate: mutateShared(func(l *env.Local) shared {
				return shared{replace: func(ctx context.Context, name string, was env.Hash, data []byte,
					perm fs.FileMode) error {
					return l.Replace(context.WithoutCancel(ctx), name, was, data, perm)
				}}
			})},
		{defect: "it replaces all the same", check: "J9_RefusesReplacing",
			mutate: mutateShared(func(*env.Local) shared { return shared{} })},
	}
}

// meeting holds the first caller until a second one has come.
type meeting struct {
	came   atomic.Int32
	second chan struct{}
}

func newMeeting() *meeting { return &meeting{second: make(chan struct{})} }

func (m *meeting) wait() {
	if m.came.Add(1) == 2 {
		close(m.second)
	}
	<-m.second
}

func lockMutations() []mutation {
	return []mutation{
		{defect: "names are taken by their letters", check: "J9_LockExcludes",
			mutate: mutateShared(func(l *env.Local) shared {
				return shared{lock: func(ctx context.Context, names ...string) (func(), error) {
					for i, name := range names {
						names[i] = strings.NewReplacer("/", "_").Replace(name)
					}
					return l.Lock(ctx, names...)
				}}
			})},
		{defect: "the first name only", check: "J9_LockExcludes", mutate: mutateShared(func(l *env.Local) shared {
			return shared{lock: func(ctx context.Context, names ...string) (func(),
				error) {
				return l.Lock(ctx, names[:1]...)
			}}
		})},
		{defect: "it is given back too late", check: "J9_LockExcludes",
			mutate: func(t *testing.T, e env.Environment) env.Environment {
				return mutateShared(func(l *env.Local) shared {
					return shared{lock: func(ctx context.Context, names ...string) (func(), error) {
						unlock, err := l.Lock(ctx, names...)
						if err == nil {
							t.Cleanup(unlock)
						}
						return func() {}, err
					}}
				})(t, e)
			}},
		{defect: "relative names stay relative", check: "J9_ResolveIsOneName",
			mutate: mutateShared(func(l *env.Local) shared {
				return shared{resolve: func(_ context.Context, name string) (string, error) {
					return path.Clean(name),
						nil
				}}
			})},
		{defect: "links are taken by their letters", check: "J9_ResolveFollowsLinks",
			mutate: mutateShared(func(l *env.Local) shared {
				return shared{resolve: func(_ context.Context, name string) (string, error) {
					return path.Join(l.WorkDir(), name), nil
				}}
			})},
	}
}
