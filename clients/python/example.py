"""Gives an agent a task, lets it change files, refuses commands, and answers its questions: python3 example.py TASK"""
import os, sys
from attractor_client import Client


def approve(ask):
    if "command" not in ask["access"]:
        print("[approved]", ask["tool"], *ask["access"].get("paths", []))
        return True
    print("[refused]", ask["access"]["command"])
    return "No commands here: leave running the tests to me."


def show(event):
    if event["kind"] == "ASSISTANT_TEXT_END":
        print(event["text"])


client = Client(os.environ["ATTRACTOR_URL"], os.environ["ATTRACTOR_TOKEN"])
session = client.create(budget_usd=2)
end = session.run((sys.argv[1:] or ["Fix the failing test."])[0], approve=approve, on_event=show, answer=lambda ask: ask.get("options", ["as you like"])[0])
print("%s, for $%.4f" % (end["reason"], end["cost_usd"]))
print(session.diff())
