#!/usr/bin/env python3
"""A prompt builder for `prefixbench run --config external`, in one file.

It reads JSON lines from stdin and answers each with one line on stdout; the
protocol is described in docs/external.md. Its layout is simple: instructions
and memory in the system text, everything else in the message it belongs to.
Replace `build` by your own.
"""

import json
import sys

PROTOCOL = 1


def span(origin, text, stability="turn"):
    """A stretch of text, with the source it came from."""
    return {"text": text, "origin": origin, "class": stability}


def block(spans):
    return {"type": "text", "spans": spans}


def system(sources):
    spans = []
    if sources["system"]:
        spans.append(span("agent_instructions", sources["system"], "static"))
    if sources["project"]:
        spans.append(span("project", "\n\nProject: " + sources["project"], "conversation"))
    if sources["memory"]:
        lines = [f"- {entry['key']}: {entry['value']}" for entry in sources["memory"]]
        spans.append(span("memory", "\n\nRemembered:\n" + "\n".join(lines)))
    return [block(spans)] if spans else []


def note(it):
    text = it["text"] if it["text"] is not None else "(cannot be read)"
    return span("notes/" + it["path"], f"Note {it['path']}:\n{text}\n\n")


def attached(attachment):
    if "note" in attachment:
        return [note(attachment["note"])]
    if "notes" in attachment:
        return [note(it) for it in attachment["notes"]]
    for kind in ("url", "tab", "selection"):
        if kind in attachment:
            name = attachment[kind]
            return [span(f"{kind}s/{name}", f"{name}:\n{attachment['text']}\n\n")]
    return []  # pictures are blocks of their own, see `user`


def user(message):
    """A message of the person, with what was sampled for it."""
    spans = []
    for attachment in message["attachments"]:
        spans += attached(attachment)
    if message["retrieved"]:
        spans.append(span("retrieved_context", message["retrieved"] + "\n\n"))
    for output in message["tool_outputs"]:
        spans.append(span("tool_outputs", f"{output['tool']}: {output['output']}\n\n"))
    if message["queued_files"]:
        spans.append(span("queued_code_files", ", ".join(message["queued_files"]) + "\n\n"))
    spans.append(span("user", message["text"]))
    pictures = [
        {
            "type": "image",
            "source": {"type": "base64", "media_type": it["media_type"], "data": it["data"]},
        }
        for it in message["attachments"]
        if "image" in it
    ]
    yield {"role": "user", "content": [block(spans)] + pictures}
    for step in message["rounds"]:
        calls = [
            {
                "type": "tool_use",
                "id": call["id"],
                "name": call["name"],
                "input": json.loads(call["arguments"]),
            }
            for call in step["calls"]
        ]
        said = [{"type": "text", "text": step["text"]}] if step["text"] else []
        yield {"role": "assistant", "content": said + calls}
        for call in step["calls"]:
            yield {"role": "tool", "tool_call_id": call["id"], "content": call["result"]}


def visible(conversation):
    """The newest summary and what it keeps, or everything."""
    at = max((i for i, it in enumerate(conversation) if it["role"] == "summary"), default=None)
    if at is None:
        return None, conversation
    summary, after = conversation[at], conversation[at + 1 :]
    kept = []
    if summary["mode"] == "coverage" and summary["keep_turns"]:
        before = [it for it in conversation[:at] if it["role"] != "summary"]
        users = [i for i, it in enumerate(before) if it["role"] == "user"]
        kept = before[users[-summary["keep_turns"]] :]
    return summary["text"], kept + after


def build(request):
    sources = request["sources"]
    summary, conversation = visible(request["conversation"])
    messages = []
    if summary is not None:
        messages.append({"role": "user", "content": [block([span("summary", summary)])]})
    for message in conversation:
        if message["role"] == "user":
            messages += user(message)
        else:
            messages.append({"role": "assistant", "content": message["text"]})
    if request["purpose"] == "summarise":
        messages.append({"role": "user", "content": "Summarise the conversation so far."})
    if request["purpose"] == "subagent":
        messages = [{"role": "user", "content": request["helper"]["task"]}]
    return {
        "type": "prompt",
        "system": system(sources),
        "tools": sources["tools"],
        "messages": messages,
    }


def answer(line):
    kind = line["type"]
    if kind == "hello":
        return {"type": "ready", "protocol": PROTOCOL}
    if kind == "step":
        return {"type": "ok"}
    if kind == "request":
        return build(line)
    return {"type": "error", "message": f"unknown type {kind!r}"}


def main():
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
