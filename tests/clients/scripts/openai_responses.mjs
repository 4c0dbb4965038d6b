// A streamed tool loop with the OpenAI SDK (responses). The prompt is the argument; the last text is printed.

import { readFileSync } from "node:fs";
import OpenAI from "openai";

const tool = {
  type: "function",
  name: "read_file",
  description: "Read a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"], additionalProperties: false },
  strict: true,
};

const client = new OpenAI();
const input = [{ role: "user", content: process.argv[2] }];
for (;;) {
  const stream = await client.responses.create({
    model: "gpt-5",
    instructions: "Be brief.",
    input,
    tools: [tool],
    stream: true,
  });
  let text = "";
  let output = [];
  for await (const event of stream) {
    if (event.type === "response.output_text.delta") text += event.delta;
    if (event.type === "response.completed") output = event.response.output;
  }
  const calls = output.filter((item) => item.type === "function_call");
  if (!calls.length) {
    console.log(text);
    break;
  }
  input.push(...output);
  for (const call of calls) {
    const { path } = JSON.parse(call.arguments);
    input.push({ type: "function_call_output", call_id: call.call_id, output: readFileSync(path, "utf8") });
  }
}
