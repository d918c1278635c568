// Package command is the command attractor for programs that ship it with parts of their own:
// tools, providers, a policy, telemetry.
//
// A main function calls [Program.Main], and has all subcommands and flags of attractor. What it
// changes is the configuration of the sessions, by [Program.Configure]. Its help and its hints
// still name attractor, its subcommands tools and tool know the tools of the profiles alone, and
// fleet starts attractor-fleet, which is another program. A program that wants other screens uses
// the root package instead.
package command
