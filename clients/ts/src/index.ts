// A client of attractor serve for Node.js 20 and later, Deno, Bun and browsers, without other packages.
//
//     const client = new Client("http://127.0.0.1:7400", token);
//     const session = await client.create({ dir: "/src/app" });
//     const end = await session.run("Fix the failing test.", { approve: async (ask) => confirm(ask.text) });

import type {
  ApprovalRequested,
  Change,
  Create,
  Event,
  Line,
  LineApprove,
  Problem,
  QuestionAsked,
  Reply,
  Session as Info,
  Sessions,
  ToolRequested,
} from "./api.js";

export type * from "./api.js";

/** ApiError says that the server has refused a request: the status of HTTP, the reason for programs and the one for people. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
  ) {
    super(detail);
    this.name = "ApiError";
  }
}

export interface ClientOptions {
  /**
   * For how many milliseconds a server that has answered before is tried when it cannot be reached or starts again: 60,000 unless set.
   */
  patience?: number;
  /** What is used in place of the global fetch. */
  fetch?: typeof fetch;
}

/** SessionEvent is an event of docs/protocol.md. Its eventId is "" if the session's journal does not have it. */
export type SessionEvent = Event & { eventId: string };

/** RunOptions answer what a session asks. Without a function, calls are refused, questions are declined, and tools are reported missing. */
export interface RunOptions {
  /** Gets each APPROVAL_REQUESTED and returns whether the call may run, a reason why not, or members of the line approve. */
  approve?: (ask: ApprovalRequested) => Answer<boolean | string | Omit<LineApprove, "type" | "ask">>;
  /** Gets each QUESTION and returns the text or, for a form, the object. */
  answer?: (ask: QuestionAsked) => Answer<string | Record<string, unknown>>;
  /** Gets each TOOL_REQUESTED of a tool that this program has brought and returns the text of its result. */
  tools?: (ask: ToolRequested) => Answer<string>;
  /** Gets every event. */
  onEvent?: (event: SessionEvent) => void;
  /** Ends the wait, not the input: send interrupt for that. */
  signal?: AbortSignal;
}

type Answer<T> = T | Promise<T>;

/** For how many milliseconds a stream may be silent. The server sends a comment every 15 seconds. */
const maxSilence = 60_000;

/** Client reaches the sessions of a server. */
export class Client {
  private readonly url: string;
  private readonly patience: number;
  private readonly fetch: typeof fetch;
  private answered = false;

  constructor(
    url: string,
    private readonly token: string,
    options: ClientOptions = {},
  ) {
    if (!/^https?:/.test(url)) throw new Error(`the URL of a server begins with http:// or https://, unlike "${url}"`);
    if (token === "") throw new Error("there is no token: attractor serve prints one, unless --tokens names a file with them");
    this.url = url.replace(/\/+$/, "");
    this.patience = options.patience ?? 60_000;
    this.fetch = options.fetch ?? ((...args) => fetch(...args));
  }

  /** Begins a session. What is not given is as the server has it. */
  async create(create: Create = {}): Promise<Session> {
    return new Session(this, (await this.json<Info>("POST", "/v1/sessions", create)).id);
  }

  /** Returns the session with an id. Nothing is sent. */
  session(id: string): Session {
    return new Session(this, id);
  }

  /** Returns the sessions that the token sees, the oldest first. */
  async sessions(): Promise<Info[]> {
    return (await this.json<Sessions>("GET", "/v1/sessions")).sessions;
  }

  /** Yields the changes of sessions: a SNAPSHOT first, and again after each time without the server. */
  async *changes(signal?: AbortSignal): AsyncGenerator<Change> {
    for await (const { data } of this.stream("/v1/events", "", false, signal)) yield data as Change;
  }

  /** Sends a request and returns its JSON answer. */
  async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    return (await (await this.request(method, path, body)).json()) as T;
  }

  /** Sends a request. One that changes something has a key, so that it is carried out once however often it is sent. */
  async request(method: string, path: string, body?: unknown): Promise<Response> {
    const headers: Record<string, string> = method === "GET" ? {} : { "Idempotency-Key": crypto.randomUUID() };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const init: RequestInit = { method, headers };
    if (body !== undefined) init.body = JSON.stringify(body);
    for (const until = Date.now() + this.patience; ; await pause()) {
      try {
        return await this.open(path, init);
      } catch (error) {
        this.goOnAfter(error, until);
      }
    }
  }

  /** Throws unless the same request may succeed later and it is not too late for that. */
  private goOnAfter(error: unknown, until: number): void {
    if (!passes(error)) throw error;
    if (this.answered && Date.now() <= until) return;
    if (error instanceof ApiError) throw error;
    const why = error instanceof Error ? (error.cause ?? error) : error; // fetch has the reason in its cause
    const tried = this.answered ? `was not reached for ${this.patience / 1000} s` : "cannot be reached: is attractor serve running?";
    throw new Error(`${this.url} ${tried} (${String(why)})`, { cause: error });
  }

  private async open(path: string, init: RequestInit): Promise<Response> {
    const headers = { Authorization: `Bearer ${this.token}`, ...init.headers };
    const answer = await this.fetch(this.url + path, { ...init, headers });
    this.answered = true;
    if (answer.ok) return answer;
    const text = await answer.text();
    let problem: Partial<Problem> = {};
    try {
      problem = JSON.parse(text) as Partial<Problem>;
    } catch {
      // It is not from the server but from a proxy.
    }
    throw new ApiError(answer.status, problem.code ?? "", problem.detail ?? (text || answer.statusText));
  }

  /** Yields server-sent events. After a break it goes on after the last id, or begins again. */
  async *stream(path: string, last: string, resume: boolean, signal?: AbortSignal): AsyncGenerator<{ id: string; data: unknown }> {
    let until = Date.now() + this.patience;
    for (; !signal?.aborted; await pause()) {
      const attempt = new AbortController();
      const stop = () => attempt.abort();
      signal?.addEventListener("abort", stop, { once: true });
      let silence = setTimeout(stop, maxSilence);
      try {
        const headers: Record<string, string> = { Accept: "text/event-stream" };
        if (last) headers["Last-Event-ID"] = last;
        const answer = await this.open(path, { headers, signal: attempt.signal });
        for await (const event of blocks(answer.body!)) {
          clearTimeout(silence);
          silence = setTimeout(stop, maxSilence);
          until = Date.now() + this.patience;
          if (event.data === "") continue;
          if (resume && event.id) last = event.id;
          yield { id: event.id, data: JSON.parse(event.data) as unknown };
        }
      } catch (error) {
        if (signal?.aborted) return;
        this.goOnAfter(error, until);
      } finally {
        clearTimeout(silence);
        signal?.removeEventListener("abort", stop);
      }
    }
  }
}

/** Session is a session of a server. Its id finds it again. */
export class Session {
  private readonly path: string;

  constructor(
    private readonly client: Client,
    readonly id: string,
  ) {
    this.path = `/v1/sessions/${encodeURIComponent(id)}`;
  }

  /** Returns what the session is and does. */
  get(): Promise<Info> {
    return this.client.json("GET", this.path);
  }

  /** Sends a line of docs/protocol.md and returns its reply. */
  send(line: Line): Promise<Reply> {
    return this.client.json("POST", `${this.path}/lines`, line);
  }

  /** Yields the events until the signal: from the first one, or from the one after an id. */
  async *events(after = "", signal?: AbortSignal): AsyncGenerator<SessionEvent> {
    for await (const { id, data } of this.client.stream(`${this.path}/events`, after, true, signal)) {
      yield { ...(data as Event), eventId: id };
    }
  }

  /**
   * Gives the session an input and returns its PROCESSING_END. If another input ends the processing before, and this one stays in the
   * queue, it returns the PROCESSING_END of that input.
   */
  async run(text: string, options: RunOptions = {}): Promise<SessionEvent> {
    const after = (await this.get()).last_event ?? "";
    const { queued } = await this.send({ type: "user", text });
    const asked = new Set<unknown>();
    let begun = false;
    for await (const event of this.events(after, options.signal)) {
      options.onEvent?.(event);
      if (event.kind === "USER_INPUT") {
        begun ||= !queued || event.text === text; // others may come first
      } else if (event.kind === "PROCESSING_END" && (begun || (queued && event.state !== "PROCESSING"))) {
        return event;
      } else if (event.kind === "SESSION_END") {
        throw new ApiError(409, "conflict", `the session has ended: ${String(event.reason)}`);
      } else if (event.ask !== undefined && !asked.has(event.ask)) {
        asked.add(event.ask);
        await this.reply(event, options);
      }
    }
    throw options.signal?.reason ?? new Error("the wait has ended");
  }

  private async reply(ask: Event, options: RunOptions): Promise<void> {
    const line = await lineFor(ask, options);
    if (!line) return;
    try {
      await this.send(line);
    } catch (error) {
      if (!(error instanceof ApiError && error.code === "conflict")) throw error; // else somebody else has answered
    }
  }

  /** Returns what the session has changed in its directory, as a unified diff. */
  async diff(): Promise<string> {
    return (await this.client.request("GET", `${this.path}/diff`)).text();
  }

  /** Returns a part of a whole output, which output_blob of a TOOL_CALL_END names. */
  async output(blob: string, offset = 0, limit = 65_536): Promise<Uint8Array> {
    const path = `${this.path}/outputs/${encodeURIComponent(blob)}?offset=${offset}&limit=${limit}`;
    return new Uint8Array(await (await this.client.request("GET", path)).arrayBuffer());
  }

  /** Returns a file of the session's directory as it is now. */
  async file(name: string): Promise<Uint8Array> {
    const path = `${this.path}/files?path=${encodeURIComponent(name)}`;
    return new Uint8Array(await (await this.client.request("GET", path)).arrayBuffer());
  }

  /** Ends the session and removes it. */
  async delete(): Promise<void> {
    await this.client.request("DELETE", this.path);
  }
}

async function lineFor(event: Event, options: RunOptions): Promise<Line | undefined> {
  const ask = event.ask as string;
  if (event.kind === "APPROVAL_REQUESTED") {
    const said = (await options.approve?.(event as Event & ApprovalRequested)) ?? false;
    if (typeof said === "object") return { ...said, type: "approve", ask };
    if (said === true) return { type: "approve", ask, decision: "allow" };
    return said === false ? { type: "approve", ask, decision: "deny" } : { type: "approve", ask, decision: "deny", reason: said };
  }
  if (event.kind === "QUESTION") {
    const said = await options.answer?.(event as Event & QuestionAsked);
    if (said === undefined) return { type: "answer", ask, action: "decline" };
    return typeof said === "string" ? { type: "answer", ask, text: said } : { type: "answer", ask, content: said };
  }
  if (event.kind === "TOOL_REQUESTED") {
    const text = await options.tools?.(event as Event & ToolRequested);
    return text === undefined
      ? { type: "result", ask, text: "this program has no such tool", is_error: true }
      : { type: "result", ask, text };
  }
  return undefined;
}

/** blocks yields the events of a stream. Comments are events without data. */
async function* blocks(body: ReadableStream<Uint8Array>): AsyncGenerator<{ id: string; data: string }> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const whole = text.split("\n\n");
      text = whole.pop() ?? "";
      for (const block of whole) {
        const event = { id: "", data: "" };
        for (const line of block.split("\n")) {
          if (line.startsWith("id: ")) event.id = line.slice(4);
          if (line.startsWith("data: ")) event.data = line.slice(6);
        }
        yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => {}); // the connection may be gone already
  }
}

/** passes reports whether the same request may succeed later: there is no server, or it is about to end or start. */
function passes(error: unknown): boolean {
  return error instanceof ApiError ? [429, 502, 503, 504].includes(error.status) : error instanceof TypeError || error instanceof DOMException;
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1000));
}
