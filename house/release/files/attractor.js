#!/usr/bin/env node
// Runs the program for this platform, which is in a package of its own.
"use strict";
const { spawn } = require("node:child_process");
const { closeSync, openSync } = require("node:fs");
const { constants } = require("node:os");

const name = `@attractor-go/attractor-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/attractor${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(
    `attractor: the package ${name} is not installed. If there is one for this platform, install again without --omit=optional; ` +
      "else see https://github.com/attractor-go/attractor/blob/main/docs/install.md",
  );
  process.exit(1);
}

// The program decides what a signal means. What a terminal sends has reached it already, and twice means something else.
// The handlers are there before the program, so that no signal ends this process alone.
let onTerminal = true;
try {
  closeSync(openSync("/dev/tty"));
} catch {
  onTerminal = false;
}
let child;
for (const signal of ["SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM"]) {
  process.on(signal, () => {
    if (signal === "SIGTERM" || !onTerminal) child.kill(signal); // handlers run when this script has come to its end
  });
}
child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`attractor: cannot run ${program}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
