"""A client of attractor serve in one file, for Python 3.9 and later, without other packages.

    from attractor_client import Client

    client = Client("http://127.0.0.1:7400", token)
    session = client.create(dir="/src/app")
    end = session.run("Fix the failing test.", approve=lambda ask: input(ask["text"]) == "y")
    print(end["text"])

Objects are dicts, as the server's OpenAPI document describes them and docs/protocol.md the events. A client may be used
by several threads. A server that has answered before is tried again for `patience` seconds when it cannot be reached or
is starting again; a request that changes something carries an Idempotency-Key, so that it is carried out once.
"""
import http.client, json, time, urllib.error, urllib.parse, urllib.request, uuid


class Problem(Exception):
    """The server has refused a request: `status` is that of HTTP, `code` the reason for programs, `detail` the one for people."""

    def __init__(self, status, code, detail):
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail


def passes(error):
    """Reports whether the same request may succeed later: the server cannot be reached, or is about to end or start."""
    return not isinstance(error, Problem) or error.status in (429, 502, 503, 504)


class Client:
    """Sessions of a server. `timeout` limits the seconds of a silence, and `patience` those without a server."""

    def __init__(self, url, token, timeout=60, patience=60):
        if not url.startswith(("http://", "https://")):
            raise ValueError('the URL of a server begins with http:// or https://, unlike "%s"' % url)
        if not token:
            raise ValueError("there is no token: attractor serve prints one, unless --tokens names a file with them")
        self.url, self.token, self.timeout, self.patience = url.rstrip("/"), token, timeout, patience
        self.answered = False

    def create(self, **create):
        """Begins a session: dir, model, effort, mode, sandbox, budget_usd, budget_tokens, each as the server has it if it is not given."""
        return Session(self, self.json("POST", "/v1/sessions", create)["id"])

    def session(self, id):
        """Returns the session with an id. Nothing is sent."""
        return Session(self, id)

    def sessions(self):
        """Returns the sessions that the token sees, the oldest first."""
        return self.json("GET", "/v1/sessions")["sessions"]

    def changes(self):
        """Iterates over the changes of sessions: a SNAPSHOT first, and again after each time without the server."""
        return (data for _, data in self.stream("/v1/events", resume=False))

    def json(self, method, path, body=None):
        """Sends a request and returns its JSON answer, None if there is none."""
        text = self.request(method, path, body)
        return json.loads(text) if text else None

    def request(self, method, path, body=None):
        """Sends a request and returns the bytes of its answer."""
        headers = {} if method == "GET" else {"Idempotency-Key": uuid.uuid4().hex}
        until = time.monotonic() + self.patience
        while True:
            try:
                with self.open(method, path, headers, body) as answer:
                    return answer.read()
            except (Problem, OSError, http.client.HTTPException) as error:
                self.endure(error, until)
            time.sleep(1)

    def endure(self, error, until):
        """Returns if the same request may be sent again, and otherwise raises why not."""
        if passes(error) and self.answered and time.monotonic() <= until:
            return
        if isinstance(error, Problem):
            raise error
        tried = "was not reached for %g s" % self.patience if self.answered else "cannot be reached: is attractor serve running?"
        raise ConnectionError("%s %s (%s)" % (self.url, tried, getattr(error, "reason", error))) from error

    def open(self, method, path, headers, body=None):
        """Returns the open answer to a request. A refusal is a Problem."""
        headers = {"Authorization": "Bearer " + self.token, "Content-Type": "application/json", **headers}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            answer = urllib.request.urlopen(request, timeout=self.timeout)
            self.answered = True
            return answer
        except urllib.error.HTTPError as error:
            self.answered = True
            with error:
                text = error.read().decode(errors="replace")
            try:
                problem = json.loads(text)
                raise Problem(error.code, problem["code"], problem["detail"]) from None
            except (ValueError, KeyError, TypeError):  # not from the server, but from a proxy
                raise Problem(error.code, "", text or error.reason) from None

    def stream(self, path, last="", resume=True):
        """Iterates over (id, data) of server-sent events. After a break it goes on after the last id, or begins again."""
        until = time.monotonic() + self.patience
        while True:
            try:
                headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
                with self.open("GET", path, headers) as answer:
                    id = ""
                    for line in answer:
                        until = time.monotonic() + self.patience
                        name, _, value = line.decode().rstrip("\r\n").partition(": ")
                        if name == "id":
                            id = value
                        elif name == "data":
                            yield id, json.loads(value)
                            last = id or last if resume else ""
                            id = ""
            except (Problem, OSError, http.client.HTTPException) as error:
                self.endure(error, until)
            time.sleep(1)


class Session:
    """A session of a server. Its `id` finds it again."""

    def __init__(self, client, id):
        self.client, self.id, self.path = client, id, "/v1/sessions/" + urllib.parse.quote(id, safe="")

    def get(self):
        """Returns what the session is and does."""
        return self.client.json("GET", self.path)

    def send(self, type, **members):
        """Sends a line of docs/protocol.md, such as send("steer", text="Use tabs."), and returns its reply."""
        return self.client.json("POST", self.path + "/lines", {"type": type, **members})

    def events(self, after=""):
        """Iterates over the events for ever: from the first one, or from the one after an id. Each has its id as `event_id`,
        "" if the session's journal does not have it."""
        for id, event in self.client.stream(self.path + "/events", after):
            yield {**event, "event_id": id}

    def run(self, text, approve=None, answer=None, tools=None, on_event=None):
        """Gives the session an input and returns its PROCESSING_END. If another input ends the processing before, and this one stays
        in the queue, it returns the PROCESSING_END of that input.

        approve gets each APPROVAL_REQUESTED and returns True, False, a reason to refuse, or a dict with members of the line approve.
        answer gets each QUESTION and returns the text or, for a form, the dict. Without them, nothing is allowed or answered.
        tools gets each TOOL_REQUESTED and returns the text of its result. on_event gets every event.
        """
        after = self.get().get("last_event", "")
        queued = self.send("user", text=text).get("queued", False)
        asked, begun = set(), False
        for event in self.events(after):
            if on_event:
                on_event(event)
            kind, ask = event["kind"], event.get("ask")
            if kind == "USER_INPUT":
                begun = begun or not queued or event["text"] == text  # others may come first
            elif kind == "PROCESSING_END" and (begun or queued and event["state"] != "PROCESSING"):
                return event
            elif kind == "SESSION_END":
                raise Problem(409, "conflict", "the session has ended: " + event["reason"])
            elif kind in ("APPROVAL_REQUESTED", "QUESTION", "TOOL_REQUESTED") and ask not in asked:
                asked.add(ask)
                self.reply(kind, event, {"APPROVAL_REQUESTED": approve, "QUESTION": answer, "TOOL_REQUESTED": tools}[kind])

    def reply(self, kind, event, callback):
        said = callback(event) if callback else None
        if kind == "TOOL_REQUESTED":
            line = {"type": "result", **({"text": said} if said is not None else {"text": "this program has no such tool", "is_error": True})}
        elif kind == "APPROVAL_REQUESTED":
            line = {"type": "approve", **(said if isinstance(said, dict) else {"decision": "allow"} if said is True else
                                          {"decision": "deny", **({"reason": said} if isinstance(said, str) else {})})}
        else:
            line = {"type": "answer", **({"action": "decline"} if said is None else {"content": said} if isinstance(said, dict) else {"text": said})}
        try:
            self.client.json("POST", self.path + "/lines", {**line, "ask": event["ask"]})
        except Problem as problem:
            if problem.code != "conflict":  # somebody else has answered
                raise

    def diff(self):
        """Returns what the session has changed in its directory, as a unified diff."""
        return self.client.request("GET", self.path + "/diff").decode()

    def output(self, blob, offset=0, limit=1 << 16):
        """Returns a part of a whole output, which `output_blob` of a TOOL_CALL_END names."""
        return self.client.request("GET", f"{self.path}/outputs/{blob}?offset={offset}&limit={limit}")

    def file(self, path):
        """Returns the bytes of a file of the session's directory as it is now."""
        return self.client.request("GET", self.path + "/files?path=" + urllib.parse.quote(path, safe=""))

    def delete(self):
        """Ends the session and removes it."""
        self.client.request("DELETE", self.path)
