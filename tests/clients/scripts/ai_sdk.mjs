// A streamed tool loop with the AI SDK. The arguments are the provider and the prompt; the last text is printed.

import { readFileSync } from "node:fs";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as ai from "ai";
import { z } from "zod";

const options = { baseURL: process.env.BASE_URL, apiKey: process.env.API_KEY };
const models = {
  "openai-compatible": () => createOpenAICompatible({ ...options, name: "fake" })("fake-model"),
  openai: () => createOpenAI(options)("gpt-5"),
  anthropic: () => createAnthropic(options)("claude-sonnet-4-5"),
  google: () => createGoogleGenerativeAI(options)("gemini-2.5-pro"),
};

const [provider, prompt] = process.argv.slice(2);
const stepCount = ai.isStepCount ?? ai.stepCountIs; // in 7, in 6
const result = ai.streamText({
  model: models[provider](),
  system: "Be brief.",
  prompt,
  tools: {
    read_file: ai.tool({
      description: "Read a file.",
      inputSchema: z.object({ path: z.string() }),
      execute: async ({ path }) => readFileSync(path, "utf8"),
    }),
  },
  stopWhen: stepCount(5),
});
for await (const piece of result.textStream) process.stdout.write(piece);
process.stdout.write("\n");
