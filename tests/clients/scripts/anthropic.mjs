// A streamed tool loop with the Anthropic SDK. The prompt is the argument; the last text is printed.

import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";

const tool = {
  name: "read_file",
  description: "Read a file.",
  input_schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};

const client = new Anthropic();
const messages = [{ role: "user", content: process.argv[2] }];
for (;;) {
  const stream = client.messages.stream({
    model: "claude-sonnet-4-5",
    max_tokens: 1024,
    system: "Be brief.",
    messages,
    tools: [tool],
  });
  const message = await stream.finalMessage();
  const calls = message.content.filter((block) => block.type === "tool_use");
  if (!calls.length) {
    console.log(message.content.map((block) => block.text ?? "").join(""));
    break;
  }
  messages.push({ role: "assistant", content: message.content });
  const results = calls.map((call) => ({
    type: "tool_result",
    tool_use_id: call.id,
    content: readFileSync(call.input.path, "utf8"),
  }));
  messages.push({ role: "user", content: results });
}
