// Package coding has the tools of a coding agent, which read, write and edit files, run commands
// and search.
//
// A function returns each tool: [ReadFile], [EditFile], [Shell], [Grep], [Glob] and so on. The
// profiles have all that their models need; a program with a profile of its own chooses some. The
// tools work on any env.Environment and have no state. Their results are written for a model: an
// error says what to do next. What programs need of a result is data in tool.Result.
//
// The tools permit nothing and ask nobody: agent.Hooks decide about calls. They do not confine
// commands: package env/sandbox does. They do not read the web: package tool/webfetch does.
//
// A [Dialect] gives the tools the words of a model family. The profiles build the tools of vendors'
// own agents on a dialect and on [RunCommand], [RunPatch] and [Dialect.ReadImage].
package coding
