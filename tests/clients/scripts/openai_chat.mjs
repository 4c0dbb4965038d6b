// A streamed tool loop with the OpenAI SDK (chat). The prompt is the argument; the last text is printed.

import { readFileSync } from "node:fs";
import OpenAI from "openai";

const tool = {
  type: "function",
  function: {
    name: "read_file",
    description: "Read a file.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
};

const client = new OpenAI();
const messages = [
  { role: "system", content: "Be brief." },
  { role: "user", content: process.argv[2] },
];
for (;;) {
  const stream = await client.chat.completions.create({ model: "gpt-5", messages, tools: [tool], stream: true });
  let text = "";
  const calls = [];
  for await (const chunk of stream) {
    for (const { delta } of chunk.choices) {
      text += delta.content ?? "";
      for (const part of delta.tool_calls ?? []) {
        const call = (calls[part.index] ??= { id: "", type: "function", function: { name: "", arguments: "" } });
        call.id += part.id ?? "";
        call.function.name += part.function?.name ?? "";
        call.function.arguments += part.function?.arguments ?? "";
      }
    }
  }
  if (!calls.length) {
    console.log(text);
    break;
  }
  messages.push({ role: "assistant", content: text, tool_calls: calls });
  for (const call of calls) {
    const { path } = JSON.parse(call.function.arguments);
    messages.push({ role: "tool", tool_call_id: call.id, content: readFileSync(path, "utf8") });
  }
}
