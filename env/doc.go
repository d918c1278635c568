// Package env defines where tools run: the files they read and write and the commands they start.
//
// [Environment] is the interface, small enough to implement for a container or a remote host in a
// few hundred lines. [NewLocal] makes a [Local], which is a directory of this machine; package
// env/remote has one on another machine, and package env/envtest one in memory. [Run] runs a
// [Command] with a time limit, and [Output] returns what it has printed. Contents are raw bytes:
// numbering lines, explaining and truncating is left to tools.
//
// The files of a Local are those of the directories that the host allows. Its commands can do
// whatever this process can, unless package env/sandbox confines them. Nothing here decides about
// calls of a model: agent.Hooks do.
//
// A command and all processes that it starts end together when it is killed or the environment is
// closed. The level of containment says how reliably: [ContainCgroupPIDNS], [ContainPIDNS],
// [ContainCgroup] or [ContainGroup].
//
// # An environment of your own
//
// Optional capabilities of an environment are separate interfaces, such as [Replacer], [Tree] and
// [Confined]. The functions that wrap an environment ([ReadOnly], [Protect], [Sub],
// [Logging]) forward all of them and return an error that wraps errors.ErrUnsupported if the
// wrapped environment does not implement them. envtest.Suite checks that an environment behaves
// correctly. Package shellenv is a small one.
//
// A wrapper embeds [Base], which forwards what the wrapped environment reports about itself:
//
//	type counting struct {
//		env.Base
//		opened atomic.Int64
//	}
//
//	func (c *counting) Open(ctx context.Context, name string) (io.ReadCloser, error) {
//		c.opened.Add(1)
//		return c.Base.Open(ctx, name)
//	}
//
//	e := &counting{Base: env.Base{Environment: local}}
//
// A wrapper that refuses changes of some files embeds [Checked] instead.
//
// Running every command of this machine inside something else, such as a sandbox, needs no wrapper:
// set [LocalOptions].Launch.
//
//	opts.Launch = func(ctx context.Context, l env.Launch) (env.Launch, error) {
//		l.Args = append([]string{"nice", "-n", "10"}, l.Args...)
//		return l, nil
//	}
//
// Paths are slash-separated on every platform, absolute or relative to the working directory.
package env
