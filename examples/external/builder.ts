// A prompt builder for `prefixbench run --config external`, in one file without
// dependencies. The protocol is described in docs/external.md.
//
// Its layout: instructions in the system text, memory in the message for which
// it changed, so that the history is only ever appended to. Replace `build` by
// your own.

import { createInterface } from "node:readline";

type Stability = "static" | "conversation" | "turn";
type Span = { text: string; origin: string; class: Stability };
type Block = { type: "text"; spans: Span[] };
type Entry = { key: string; value: string };
type Sources = {
  system: string;
  tools: unknown[];
  project: string | null;
  memory: Entry[] | null;
};
type Note = { path: string; text: string | null };
type Attachment = { note?: Note; notes?: Note[]; url?: string; tab?: string; text?: string };
type Call = { id: string; name: string; arguments: string; result: string };
type Message = {
  role: "user" | "assistant" | "summary";
  text: string;
  changes: Partial<Sources>;
  attachments: Attachment[];
  retrieved: string | null;
  rounds: { text: string; calls: Call[] }[];
};
type Request = {
  purpose: "send" | "regenerate" | "resume" | "summarise" | "subagent";
  sources: Sources;
  conversation: Message[];
  helper?: { task: string };
};
type Line = { type: "hello" } | { type: "step" } | ({ type: "request" } & Request);

const PROTOCOL = 1;

const span = (origin: string, text: string, stability: Stability = "turn"): Span => ({
  text,
  origin,
  class: stability,
});

const block = (spans: Span[]): Block => ({ type: "text", spans });

function changes(changed: Partial<Sources>): Span[] {
  const spans: Span[] = [];
  if (changed.project !== undefined) {
    spans.push(span("project", `Project: ${changed.project ?? "off"}\n\n`, "conversation"));
  }
  if (changed.memory !== undefined) {
    const facts = (changed.memory ?? []).map((entry) => `${entry.key}: ${entry.value}`);
    spans.push(span("memory", `Remembered: ${facts.join("; ")}\n\n`));
  }
  return spans;
}

function attached(attachment: Attachment): Span[] {
  const notes = attachment.note ? [attachment.note] : (attachment.notes ?? []);
  const pages = attachment.url ?? attachment.tab;
  return [
    ...notes.map((it) => span(`notes/${it.path}`, `${it.path}:\n${it.text ?? ""}\n\n`)),
    ...(pages ? [span(`urls/${pages}`, `${pages}:\n${attachment.text ?? ""}\n\n`)] : []),
  ];
}

function user(message: Message): object[] {
  const spans = [...changes(message.changes), ...message.attachments.flatMap(attached)];
  if (message.retrieved) {
    spans.push(span("retrieved_context", `${message.retrieved}\n\n`));
  }
  spans.push(span("user", message.text));
  const loop = message.rounds.flatMap((round) => [
    {
      role: "assistant",
      content: round.text,
      tool_calls: round.calls.map((call) => ({
        id: call.id,
        type: "function",
        function: { name: call.name, arguments: call.arguments },
      })),
    },
    ...round.calls.map((call) => ({
      role: "tool",
      tool_call_id: call.id,
      content: call.result,
    })),
  ]);
  return [{ role: "user", content: [block(spans)] }, ...loop];
}

function build(request: Request): object {
  // The simplest compaction: the summary stands for everything in front of it.
  const at = request.conversation.map((it) => it.role).lastIndexOf("summary");
  const messages = request.conversation.slice(Math.max(at, 0)).flatMap((message) => {
    switch (message.role) {
      case "user":
        return user(message);
      case "assistant":
        return [{ role: "assistant", content: message.text }];
      case "summary":
        return [{ role: "user", content: [block([span("summary", message.text)])] }];
    }
  });
  if (request.purpose === "summarise") {
    messages.push({ role: "user", content: "Summarise the conversation so far." });
  }
  const { system, tools } = request.sources;
  return {
    type: "prompt",
    system: system ? [block([span("agent_instructions", system, "static")])] : [],
    tools,
    messages: request.helper ? [{ role: "user", content: request.helper.task }] : messages,
  };
}

function answer(line: Line): object {
  switch (line.type) {
    case "hello":
      return { type: "ready", protocol: PROTOCOL };
    case "step":
      return { type: "ok" };
    case "request":
      return build(line);
    default:
      return { type: "error", message: "unknown type" };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answer(JSON.parse(line) as Line))}\n`);
}
