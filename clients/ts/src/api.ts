// These types are made of docs/reference/openapi.json by: go test ./server -run TestW3_ClientTypes -update

export type ApprovalRequested = {
  access: {
    command?: string;
    effect: "read_only" | "writes" | "exclusive";
    guarded?: Array<{
      path: string;
      why: string;
    }>;
    hosts?: Array<string>;
    paths?: Array<string>;
  };
  agent_id?: string;
  allow?: Array<string>;
  arguments: unknown;
  ask: string;
  call_id: string;
  dir?: string;
  kind: string;
  links?: Array<{
    path: string;
    target: string;
  }>;
  plan?: string;
  problem?: string;
  project?: string;
  reason?: string;
  reasons?: Array<string>;
  refused?: Array<string>;
  rule?: string;
  seq: number;
  session_id: string;
  text?: string;
  time: string;
  tool: string;
};

export type AskEnded = {
  ask: string;
  how: string;
  kind: string;
  seq: number;
  session_id: string;
  time: string;
};

export type Change = {
  /** of a DELETED: the session that is gone */
  id?: string;
  /** SNAPSHOT, SESSION or DELETED */
  kind: string;
  /** of a SESSION: a session that is new or has changed */
  session?: Session;
  /** of a SNAPSHOT: all sessions that the token sees */
  sessions?: Array<Session>;
};

export type Create = {
  /** the tokens that the session may use; not above those of the server */
  budget_tokens?: number;
  /** what the session may spend, in US dollars; not above that of the server */
  budget_usd?: number;
  /** the working directory, within one of the roots; a path that is not absolute is below the first root */
  dir?: string;
  /** the level of effort */
  effort?: string;
  /** the id of a session whose conversation the new one begins with; what is empty is as that one has it */
  fork?: string;
  /** what becomes of calls about which the rules ask; not beyond that of the server */
  mode?: "read-only" | "plan" | "ask" | "accept-edits" | "full";
  /** the model, as provider/model */
  model?: string;
  /** how commands are confined; not less than by the server */
  sandbox?: "off" | "workspace-weak" | "workspace" | "read-only";
  /** of a fork: the turn behind which it begins; 0 means the last one. In a dir of its own, which must be empty, it gets the files of that turn */
  turn?: number;
};

/** an event of docs/protocol.md, with the members of its kind */
export type Event = {
  kind: string;
  seq: number;
  session_id: string;
  time: string;
  [member: string]: unknown;
};

export type Health = {
  /** ok, or draining while the server is about to end */
  status: string;
  version: string;
};

export type Image = {
  data?: string;
  media_type?: string;
  path?: string;
};

export type Line = LineAnswer | LineApprove | LineClose | LineCompact | LineContinue | LineDiff | LineFollowUp | LineInterrupt | LineRedo | LineResult | LineSet | LineStatus | LineSteer | LineTools | LineUndo | LineUser;

export type LineAnswer = {
  action?: "decline" | "cancel";
  ask: string;
  content?: Record<string, unknown>;
  id?: string | number;
  text?: string;
  type: "answer";
};

export type LineApprove = {
  args?: Record<string, unknown>;
  ask: string;
  decision: "allow" | "deny";
  id?: string | number;
  mode?: "ask" | "accept-edits" | "plan" | "full";
  reason?: string;
  remember?: "session" | "project" | "always";
  type: "approve";
};

export type LineClose = {
  id?: string | number;
  type: "close";
};

export type LineCompact = {
  id?: string | number;
  type: "compact";
};

export type LineContinue = {
  id?: string | number;
  type: "continue";
};

export type LineDiff = {
  id?: string | number;
  type: "diff";
};

export type LineFollowUp = {
  id?: string | number;
  images?: Array<Image>;
  key?: string;
  text?: string;
  type: "follow_up";
};

export type LineInterrupt = {
  id?: string | number;
  type: "interrupt";
};

export type LineRedo = {
  id?: string | number;
  plan?: string;
  type: "redo";
};

export type LineResult = {
  ask: string;
  id?: string | number;
  images?: Array<Image>;
  is_error?: boolean;
  text?: string;
  type: "result";
};

export type LineSet = {
  answer_timeout?: string;
  budget_tokens?: number;
  budget_usd?: number;
  effort?: string;
  id?: string | number;
  max_rounds?: number;
  max_turns?: number;
  mode?: "ask" | "accept-edits" | "plan" | "full";
  model?: string;
  provider?: string;
  type: "set";
};

export type LineStatus = {
  id?: string | number;
  type: "status";
};

export type LineSteer = {
  id?: string | number;
  images?: Array<Image>;
  key?: string;
  text?: string;
  type: "steer";
};

export type LineTools = {
  id?: string | number;
  tools: Array<{
    description: string;
    name: string;
    parameters?: Record<string, unknown>;
    read_only?: boolean;
  }>;
  type: "tools";
};

export type LineUndo = {
  id?: string | number;
  plan?: string;
  turn?: number;
  type: "undo";
};

export type LineUser = {
  id?: string | number;
  images?: Array<Image>;
  key?: string;
  text?: string;
  type: "user";
};

export type Problem = {
  /** the reason, for programs */
  code: "invalid" | "unauthorized" | "forbidden" | "not_found" | "conflict" | "too_large" | "key_reused" | "limit" | "storage" | "draining" | "internal";
  /** the reason, for people */
  detail: string;
  /** the status of the answer */
  status: number;
  /** the text of the status */
  title: string;
};

export type QuestionAsked = {
  ask: string;
  call_id: string;
  form?: unknown;
  kind: string;
  options?: Array<string>;
  problem?: string;
  question: string;
  seq: number;
  session_id: string;
  source?: string;
  time: string;
};

export type Reply = {
  /** the id of the line */
  id?: unknown;
  /** names a plan that can be carried out */
  plan?: string;
  /** the text waits for the end of the input that runs */
  queued?: boolean;
  /** answers status */
  status?: Status;
  /** answers diff, undo and redo */
  text?: string;
  /** the type of the line */
  type: string;
};

export type Session = {
  /** how many asks wait for an answer */
  asks: number;
  budget_tokens?: number;
  budget_usd?: number;
  created: string;
  dir: string;
  /** the id of the session that it is a fork of */
  fork?: string;
  id: string;
  /** the id of the newest event, if this process has the session open */
  last_event?: string;
  mode: "read-only" | "plan" | "ask" | "accept-edits" | "full";
  /** as provider/model; the one of the server until the session has begun */
  model?: string;
  /** why the session could not go on */
  problem?: string;
  sandbox: "off" | "workspace-weak" | "workspace" | "read-only";
  state: "idle" | "running" | "waiting" | "held";
  /** the name of the token that has created it */
  token: string;
  /** the tokens until now, if this process has the session open */
  usage?: Usage;
};

export type Sessions = {
  sessions: Array<Session>;
};

export type Status = {
  /** the events of the asks that wait for an answer */
  asks: Array<Event>;
  effort?: string;
  mode: "read-only" | "plan" | "ask" | "accept-edits" | "full";
  model: string;
  provider: string;
  state: string;
  usage: Usage;
};

export type ToolRequested = {
  agent_id?: string;
  arguments: unknown;
  ask: string;
  call_id: string;
  kind: string;
  seq: number;
  session_id: string;
  time: string;
  tool: string;
};

export type Usage = {
  cache_read?: number;
  cache_write?: number;
  cache_write_long?: number;
  input: number;
  output: number;
  reasoning?: number;
  searches?: number;
};
