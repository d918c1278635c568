// Package coding is the tools of a coding agent: reading, writing and editing files, running commands, searching. One file is
// one tool; what a tool does lies beside it in files of their own.
//
// The tools work on any env.Environment and remember nothing. Their results are written for a model: an error says what to do
// next. The dialects of model families word them otherwise: [ShellAs], [ReadFileAs] and [EditFileAs] take their form. What such a dialect's
// own tools run is [RunCommand], [RunPatch] and [ReadImage]; the tools themselves are in the profiles.
package coding
