"""Runs tasks with attractor, approves edits, refuses commands and answers questions: python3 client.py TASK [SECOND TASK]"""
import json, subprocess, sys

attractor = subprocess.Popen(["attractor", "run", "--input", "json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
tasks = sys.argv[1:]

def send(type, **members):
    attractor.stdin.write(json.dumps({"type": type, **members}) + "\n")
    attractor.stdin.flush()

for line in attractor.stdout:
    event = json.loads(line)
    kind = event["kind"]
    if kind == "ASSISTANT_TEXT_DELTA":
        print(event["text"], end="", flush=True)
    elif kind == "ASSISTANT_TEXT_END":
        print(flush=True)
    elif kind == "APPROVAL_REQUESTED" and "command" in event["access"]:
        print("[refused]", event["access"]["command"], flush=True)
        send("approve", ask=event["ask"], decision="deny", reason="No commands here: leave running the tests to me.")
    elif kind == "APPROVAL_REQUESTED":
        print("[approved]", event["tool"], *event["access"].get("paths", []), flush=True)
        send("approve", ask=event["ask"], decision="allow")
    elif kind == "QUESTION":
        send("answer", ask=event["ask"], text=event.get("options", ["as you like"])[0])
    elif kind == "REPLY" and not event["ok"]:
        print("[line %d]" % event["line"], event["error"], file=sys.stderr)
    elif kind == "SESSION_START" or kind == "PROCESSING_END" and event["state"] == "IDLE":
        if tasks:
            send("user", text=tasks.pop(0))
        else:
            attractor.stdin.close()  # ends the session when all is done
sys.exit(attractor.wait())
