// A streamed tool loop with the Google Gen AI SDK. The prompt is the argument; the last text is printed.

import { readFileSync } from "node:fs";
import { GoogleGenAI } from "@google/genai";

const tool = {
  name: "read_file",
  description: "Read a file.",
  parametersJsonSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};

const client = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY });
const contents = [{ role: "user", parts: [{ text: process.argv[2] }] }];
for (;;) {
  const stream = await client.models.generateContentStream({
    model: "gemini-2.5-pro",
    contents,
    config: { systemInstruction: "Be brief.", tools: [{ functionDeclarations: [tool] }] },
  });
  const parts = [];
  for await (const chunk of stream) parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
  const calls = parts.filter((part) => part.functionCall);
  if (!calls.length) {
    console.log(parts.map((part) => part.text ?? "").join(""));
    break;
  }
  contents.push({ role: "model", parts });
  const results = calls.map(({ functionCall }) => ({
    functionResponse: { name: functionCall.name, response: { output: readFileSync(functionCall.args.path, "utf8") } },
  }));
  contents.push({ role: "user", parts: results });
}
