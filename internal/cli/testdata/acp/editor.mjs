// An editor for tests: the client of the official SDK, driven by lines of JSON on standard input. What it sees it prints as lines of JSON.
//
//   node editor.mjs MODULES PROGRAM ARGUMENTS...
//
// MODULES is the directory of the modules for Node. The program is the agent, which gets descriptor 3. Every message in both directions is checked against the
// protocol's schema. The lines in are
//
//   {"do": "request", "n": 1, "method": "session/new", "params": {...}}   answered by {"n": 1, "result" or "error"}
//   {"do": "cancel", "n": 1}                                              cancels that request
//   {"do": "notify", "method": "session/cancel", "params": {...}}
//   {"do": "answer", "ask": 7, "result" or "error"}                       answers {"ask": 7, "method", "params"}
//   {"do": "raw", "line": "..."}                                          goes to the agent as it is, unchecked
//   {"do": "check", "agent": true, "message": {...}}                      checks a message as if the agent had sent it
//   {"do": "end"}                                                         closes the agent's standard input
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";
import { Readable, Transform, Writable } from "node:stream";
import { isDeepStrictEqual } from "node:util";
import { pathToFileURL } from "node:url";

const [modules, program, ...args] = process.argv.slice(2);
const require = createRequire(path.join(modules, "x.js"));
const sdk = path.join(modules, "@agentclientprotocol", "sdk");
const acp = await import(pathToFileURL(path.join(sdk, "dist/v1/stable/acp.js")));
const parsers = await import(pathToFileURL(path.join(sdk, "dist/v1/schema/zod.gen.js")));
const Ajv = require("ajv/dist/2020").default;

const print = (seen) => process.stdout.write(JSON.stringify(seen) + "\n");

// The schema says in x-method which definition is for which method. Its name ends with Request, Response or Notification.
const schema = JSON.parse(readFileSync(path.join(sdk, "schema/v1/schema.json"), "utf8"));
// Only the definitions are added: to compile one of them, ajv would compile the root, too, which refers to all of them.
const ajv = new Ajv({ strict: false, validateFormats: false, validateSchema: false, allErrors: true });
ajv.addSchema({ $schema: schema.$schema, $defs: schema.$defs }, "acp");
const definitions = {};
for (const [name, definition] of Object.entries(schema.$defs)) {
  const form = name.match(/(Request|Response|Notification)$/)?.[0];
  if (definition["x-method"] && form) definitions[`${form} ${definition["x-method"]}`] = { name, side: definition["x-side"] };
}

// lost returns the path of something that a parser has dropped or replaced, which the schema does not know or allow, or undefined.
function lost(given, parsed, at = "") {
  if (/\/(_meta|rawInput|rawOutput)$/.test(at) || given === null) return undefined;
  if (typeof given !== "object") return isDeepStrictEqual(given, parsed) ? undefined : at;
  for (const key of Object.keys(given)) {
    if (parsed === null || typeof parsed !== "object" || !(key in parsed)) return `${at}/${key}`;
    const found = lost(given[key], parsed[key], `${at}/${key}`);
    if (found) return found;
  }
  return undefined;
}

// against returns what is wrong with a value by a definition, or undefined.
function against(name, value) {
  const validate = ajv.getSchema(`acp#/$defs/${name}`);
  if (!validate(value)) return `not a ${name}: ${ajv.errorsText(validate.errors)}`;
  const parsed = parsers[`z${name}`].safeParse(value);
  if (!parsed.success) return `not a ${name}: ${parsed.error}`;
  const unknown = lost(value, parsed.data);
  return unknown && `a ${name} has no ${unknown}`;
}

// pending holds the methods of requests by their ids, for the answers: those of the editor, and those of the agent.
const pending = { editor: new Map(), agent: new Map() };

// wrong returns what is wrong with a message, or undefined.
function wrong(message, from) {
  const other = from === "agent" ? "editor" : "agent";
  if (message?.jsonrpc !== "2.0") return "no jsonrpc 2.0";
  for (const key of Object.keys(message)) {
    if (!["jsonrpc", "id", "method", "params", "result", "error"].includes(key)) return `the envelope has ${key}`;
  }
  if (message.method !== undefined) {
    const form = "id" in message ? "Request" : "Notification";
    const found = definitions[`${form} ${message.method}`];
    if (!found) return `the protocol has no ${form} ${message.method}`;
    if (found.side !== "protocol" && (found.side === "client") !== (from === "agent")) return `${message.method} is not for this side`;
    if (form === "Request") {
      if (pending[from].has(message.id)) return `the id ${message.id} is used twice`;
      pending[from].set(message.id, message.method);
    }
    return against(found.name, message.params);
  }
  if (message.id === null) return "error" in message ? undefined : "no id";
  const method = pending[other].get(message.id);
  if (!method) return `an answer to no request: ${message.id}`;
  pending[other].delete(message.id);
  if (("error" in message) === ("result" in message)) return "neither result nor error, or both";
  if ("error" in message) return against("Error", message.error);
  return against(definitions[`Response ${method}`].name, message.result);
}

// arrived and handled count the updates: those of the agent, and those that the SDK has passed on.
let arrived = 0;
let handled = 0;

// inspect checks a line and says what is wrong with it.
function inspect(line, from) {
  if (line.trim() === "") return;
  let message;
  try {
    message = JSON.parse(line);
  } catch (error) {
    print({ invalid: `${from}: not JSON: ${error.message}`, line });
    return;
  }
  const problem = wrong(message, from);
  if (message.method === "session/update" && from === "agent") {
    arrived++;
    print({ update: message.params }); // here, because the SDK's handlers run later than its answers
  }
  if (problem) print({ invalid: `${from}: ${problem}`, line: line.slice(0, 4000) });
}

// inspected passes bytes on after their lines have been checked.
function inspected(from) {
  let rest = [];
  return new Transform({
    transform(chunk, _, done) {
      let begin = 0;
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, begin)) {
        inspect(Buffer.concat([...rest, chunk.subarray(begin, end)]).toString("utf8"), from);
        rest = [];
        begin = end + 1;
      }
      rest.push(chunk.subarray(begin));
      done(null, chunk);
    },
  });
}

// What the agent starts inherits descriptor 3. The test sees when the last of them has closed it.
const agent = spawn(program, args, { stdio: ["pipe", "pipe", "pipe", 3] });
print({ pid: agent.pid });
agent.stdin.on("error", () => {}); // the agent may have ended
agent.stderr.on("data", (data) => print({ stderr: data.toString("utf8") }));
agent.on("close", (code, signal) => print({ exit: code, signal }));
const toAgent = inspected("editor");
toAgent.pipe(agent.stdin);
const stream = acp.ndJsonStream(Writable.toWeb(toAgent), Readable.toWeb(agent.stdout.pipe(inspected("agent"))));

let asks = 0;
const waiting = new Map();
const app = acp.client({ name: "scripted editor" });
for (const method of [
  "session/request_permission", "fs/read_text_file", "fs/write_text_file", "elicitation/create",
  "terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release",
]) {
  app.onRequest(method, ({ params, signal }) => new Promise((resolve, reject) => {
    const ask = ++asks;
    waiting.set(ask, { resolve, reject });
    signal.addEventListener("abort", () => print({ withdrawn: ask }));
    print({ ask, method, params });
  }));
}
app.onNotification("session/update", () => void handled++);
app.onNotification("elicitation/complete", ({ params }) => print({ completed: params }));
const connection = app.connect(stream);
connection.closed.then(() => {
  if (handled !== arrived) print({ invalid: `agent: the SDK has passed on ${handled} of ${arrived} updates` });
  print({ closed: true });
});

const requests = new Map();
const actions = {
  request({ n, method, params }) {
    const aborter = new AbortController();
    requests.set(n, aborter);
    connection.agent.request(method, params, { cancellationSignal: aborter.signal }).then(
      (result) => print({ n, result: result ?? {} }),
      (error) => print({ n, error: { code: error.code, message: error.message ?? String(error), data: error.data } }),
    );
  },
  cancel: ({ n }) => requests.get(n).abort(),
  notify: ({ method, params }) => connection.agent.notify(method, params),
  answer({ ask, result, error }) {
    const { resolve, reject } = waiting.get(ask);
    if (error) reject(new acp.RequestError(error.code, error.message, error.data));
    else resolve(result);
  },
  raw: ({ line }) => agent.stdin.write(line + "\n"),
  check({ agent, message }) {
    const from = agent ? "agent" : "editor";
    print({ checked: wrong(message, from) ?? "" });
  },
  end: () => agent.stdin.end(),
};
for await (const line of createInterface({ input: process.stdin })) {
  const action = JSON.parse(line);
  await actions[action.do](action);
}
agent.stdin.end();
