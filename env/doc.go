// Package env is where tools run: the files they read and write and the commands they start.
//
// [Environment] is the interface, small enough to implement for a container or a remote host in a few hundred lines. [Local]
// is this machine. Contents are raw bytes: nothing here numbers lines, explains or truncates; tools do that.
//
// A command is held together with all that it starts, so that nothing of it is left when it is killed or the environment is
// closed. How far that goes is the level of containment: [ContainCgroupPIDNS], [ContainPIDNS], [ContainCgroup] or [ContainGroup].
//
// # An environment of your own
//
// What an environment may have beyond the interface are interfaces of their own, such as [Replacer], [Tree], [Graceful] and [Confined]. The functions that wrap
// an environment ([ReadOnly], [Protect], [Sub], [Logging]) forward all of them; where the environment below has not what is asked for, the error
// wraps errors.ErrUnsupported. envtest.Suite checks that an environment behaves, and examples/remoteenv is one to copy.
//
// A wrapper embeds [Base], which forwards what the environment below says of itself:
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
// To put something around each command of this machine, such as a sandbox, needs no wrapper: [LocalOptions].Launch is asked how to start it.
//
//	opts.Launch = func(ctx context.Context, l env.Launch) (env.Launch, error) {
//		l.Args = append([]string{"nice", "-n", "10"}, l.Args...)
//		return l, nil
//	}
//
// Paths are slash-separated on every platform, absolute or relative to the working directory.
package env
