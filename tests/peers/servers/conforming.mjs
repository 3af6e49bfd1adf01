// A server with all that the official conformance suite asks for, in both eras, written with the
// TypeScript SDK v2: `conforming.mjs stdio` or `--port N`. One handler for both eras.

import {
  InMemoryServerEventBus,
  McpServer,
  ResourceTemplate,
  completable,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  inputResponse,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { serve } from "./serve.mjs";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

const states = createRequestStateCodec({ key: crypto.getRandomValues(new Uint8Array(32)) });
const bus = new InMemoryServerEventBus();

const sleep = (time) => new Promise((done) => setTimeout(done, time));
const said = (words) => ({ type: "text", text: words });
const text = (words) => ({ content: [said(words)] });
const user = (content) => ({ role: "user", content });

const object = (properties, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
});
const string = { type: "string" };

const form = (message, requestedSchema) => inputRequired.elicit({ message, requestedSchema });
const sampling = (prompt, maxTokens = 100) =>
  inputRequired.createMessage({ messages: [user(said(prompt))], maxTokens });
const roots = () => inputRequired.listRoots();

/** The answers to the questions, or what asks for those that are missing. */
async function answers(ctx, questions, state) {
  const found = {};
  const missing = {};
  for (const [key, question] of Object.entries(questions)) {
    const answer = inputResponse(ctx.mcpReq.inputResponses, key);
    if (answer.kind === "missing" || !isFit(answer, question)) missing[key] = question;
    else found[key] = answer;
  }
  if (Object.keys(missing).length === 0) return { found };
  const requestState = state && (await states.mint(state));
  return { ask: inputRequired({ inputRequests: missing, requestState }) };
}

/** Whether an answer is one to its question, with all that is required. */
function isFit(answer, question) {
  if (question.method !== "elicitation/create") return true;
  if (answer.kind !== "elicit") return false;
  const { required = [], properties } = question.params.requestedSchema;
  return (
    answer.action !== "accept" ||
    required.every((name) => typeof answer.content?.[name] === properties[name].type)
  );
}

function serverOf({ era }) {
  const capabilities = { logging: {}, resources: { subscribe: true, listChanged: true } };
  const server = new McpServer(
    { name: "conforming", version: "1.0.0" },
    { capabilities, requestState: { verify: states.verify } },
  );
  content(server);
  asking(server);
  features(server, era);
  resources(server, era);
  prompts(server);
  return server;
}

/** Tools that answer with each kind of content. */
function content(server) {
  const tool = (name, result) => server.registerTool(name, { description: name }, result);
  const resource = (uri, mimeType, text) => ({ type: "resource", resource: { uri, mimeType, text } });
  tool("test_simple_text", () => text("This is a simple text response for testing."));
  tool("test_image_content", () => ({ content: [{ type: "image", data: PNG, mimeType: "image/png" }] }));
  tool("test_audio_content", () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }));
  tool("test_embedded_resource", () => ({
    content: [resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")],
  }));
  tool("test_multiple_content_types", () => ({
    content: [
      said("Multiple content types test:"),
      { type: "image", data: PNG, mimeType: "image/png" },
      resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  }));
  tool("test_error_handling", () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
}

/** Tools that ask, by rounds or by requests, as the client's version has it. */
function asking(server) {
  const tool = (name, handler, shape = {}) =>
    server.registerTool(name, { description: name, inputSchema: z.object(shape) }, handler);
  /** A tool that asks once, all of it at the same time. */
  const asks = (name, questions, then, shape, state) =>
    tool(
      name,
      async (args, ctx) => {
        const { ask, found } = await answers(ctx, questions(args), state);
        return ask ?? text(then(found));
      },
      shape,
    );
  const shown = ({ answer }) => `Elicitation completed: ${JSON.stringify(answer)}`;

  asks(
    "test_elicitation",
    ({ message }) => ({ answer: form(message, object({ username: string, email: string })) }),
    ({ answer }) => `User response: action ${answer.action}, content ${JSON.stringify(answer.content)}`,
    { message: z.string() },
  );
  asks(
    "test_sampling",
    ({ prompt }) => ({ answer: sampling(prompt) }),
    ({ answer }) => `LLM response: ${answer.result?.content?.text ?? JSON.stringify(answer)}`,
    { prompt: z.string() },
  );
  const statuses = ["active", "inactive", "pending"];
  const defaults = object(
    {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: statuses, default: "active" },
      verified: { type: "boolean", default: true },
    },
    [],
  );
  asks("test_elicitation_sep1034_defaults", () => ({ answer: form("Please check", defaults) }), shown);
  const titled = ["First", "Second", "Third"].map((title, at) => ({ const: `value${at + 1}`, title }));
  const plain = ["option1", "option2", "option3"];
  const enums = object(
    {
      untitledSingle: { type: "string", enum: plain },
      titledSingle: { type: "string", oneOf: titled },
      legacyEnum: { type: "string", enum: ["opt1", "opt2"], enumNames: ["Option One", "Option Two"] },
      untitledMulti: { type: "array", items: { type: "string", enum: plain } },
      titledMulti: { type: "array", items: { anyOf: titled } },
    },
    [],
  );
  asks("test_elicitation_sep1330_enums", () => ({ answer: form("Please choose", enums) }), shown);

  const name = () => form("What is your name?", object({ name: string }));
  const confirm = () => form("Please confirm", object({ ok: { type: "boolean" } }));
  const hello = ({ user_name }) => `Hello, ${user_name.content?.name}!`;
  const prefix = "test_input_required_result_";
  asks(`${prefix}elicitation`, () => ({ user_name: name() }), hello);
  asks("test_streaming_elicitation", () => ({ user_name: name() }), hello);
  asks(`${prefix}sampling`, () => ({ capital: sampling("What is the capital of France?") }), JSON.stringify);
  asks(`${prefix}list_roots`, () => ({ client_roots: roots() }), JSON.stringify);
  asks(`${prefix}request_state`, () => ({ confirm: confirm() }), () => "state-ok", {}, { step: 1 });
  asks(`${prefix}tampered_state`, () => ({ confirm: confirm() }), () => "confirmed", {}, { step: 1 });
  const several = () => ({ user_name: name(), greeting: sampling("Greet"), client_roots: roots() });
  asks(`${prefix}multiple_inputs`, several, JSON.stringify, {}, { step: 1 });
  asks("test_missing_capability", () => ({ answer: sampling("Say something") }), JSON.stringify);

  tool(`${prefix}multi_round`, async (_, ctx) => {
    const state = ctx.mcpReq.requestState();
    if (!state?.name) {
      const { ask, found } = await answers(ctx, { step1: name() }, { step: 1 });
      if (ask) return ask;
      const name_ = found.step1.content.name;
      return (await answers({ mcpReq: {} }, { step2: color() }, { name: name_ })).ask;
    }
    const { ask, found } = await answers(ctx, { step2: color() }, state);
    return ask ?? text(`${state.name} likes ${found.step2.content.color}`);
  });
  const color = () => form("Which color?", object({ color: string }));

  tool(`${prefix}capabilities`, async (_, ctx) => {
    const key = "io.modelcontextprotocol/clientCapabilities";
    const declared = ctx.mcpReq.envelope?.[key] ?? server.server.getClientCapabilities() ?? {};
    const question = declared.elicitation ? name() : sampling("Think of a name");
    const { ask, found } = await answers(ctx, { name: question });
    return ask ?? text(JSON.stringify(found));
  });
}

/** Tools that log, report progress, change lists, or have special schemas. */
function features(server, era) {
  const tool = (name, handler, inputSchema) =>
    server.registerTool(name, { description: name, ...(inputSchema && { inputSchema }) }, handler);
  server.registerTool("test_tool_with_logging", { description: "logs" }, async (ctx) => {
    for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await ctx.mcpReq.log("info", data);
      await sleep(50);
    }
    return text("logged");
  });
  tool("test_logging_tool", async (ctx) => {
    await ctx.mcpReq.log("info", "only if asked for");
    return text("done");
  });
  tool("test_tool_with_progress", async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      const params = { progressToken, progress, total: 100 };
      if (progressToken !== undefined) await ctx.mcpReq.notify({ method: "notifications/progress", params });
      await sleep(50);
    }
    return text("done");
  });
  tool("test_trigger_tool_change", () => changed(server, era, "Tool"));
  tool("test_trigger_prompt_change", () => changed(server, era, "Prompt"));
  tool("json_schema_2020_12_tool", () => text("done"), fromJsonSchema(KEYWORDS));
  const header = z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) });
  tool("test_x_mcp_header", ({ region }) => text(`region ${region}`), header);
}

/** A schema with keywords that a relay might lose. */
const KEYWORDS = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  ...object({ name: string, address: { $ref: "#/$defs/address" }, phone: string, email: string }, []),
  $defs: { address: { $anchor: "addressDef", ...object({ street: string, city: string }, []) } },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { required: ["phone"] },
  then: { required: ["name"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

/** Says that a list has changed, although it has not. */
async function changed(server, era, kind) {
  if (era === "modern") bus.publish({ kind: `${kind.toLowerCase()}s_list_changed` });
  else await server[`send${kind}ListChanged`]();
  return text("changed");
}

function resources(server, era) {
  const read = (uri, rest) => ({ contents: [{ uri: uri.href, ...rest }] });
  server.registerResource("text", "test://static-text", { mimeType: "text/plain" }, (uri) =>
    read(uri, { mimeType: "text/plain", text: "This is the content of the static text resource." }),
  );
  server.registerResource("binary", "test://static-binary", { mimeType: "image/png" }, (uri) =>
    read(uri, { mimeType: "image/png", blob: PNG }),
  );
  server.registerResource("watched", "test://watched-resource", { mimeType: "text/plain" }, (uri) =>
    read(uri, { mimeType: "text/plain", text: "watched" }),
  );
  const template = new ResourceTemplate("test://template/{id}/data", { list: undefined });
  server.registerResource("template", template, { mimeType: "application/json" }, (uri, { id }) => {
    const data = { id, templateTest: true, data: `Data for ID: ${id}` };
    return read(uri, { mimeType: "application/json", text: JSON.stringify(data) });
  });
  if (era !== "modern") {
    for (const method of ["resources/subscribe", "resources/unsubscribe"]) {
      server.server.setRequestHandler(method, () => ({}));
    }
  }
}

function prompts(server) {
  const prompt = (name, shape, messages) =>
    server.registerPrompt(name, { description: name, ...(shape && { argsSchema: z.object(shape) }) }, messages);
  prompt("test_simple_prompt", null, () => ({
    messages: [user(said("This is a simple prompt for testing."))],
  }));
  const argument = completable(z.string(), (value) =>
    ["paris", "park", "party"].filter((word) => word.startsWith(value)),
  );
  prompt("test_prompt_with_arguments", { arg1: argument, arg2: z.string() }, ({ arg1, arg2 }) => ({
    messages: [user(said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  }));
  prompt("test_prompt_with_embedded_resource", { resourceUri: z.string() }, ({ resourceUri }) => {
    const resource = { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." };
    const words = "Please process the embedded resource above.";
    return { messages: [user({ type: "resource", resource }), user(said(words))] };
  });
  prompt("test_prompt_with_image", null, () => ({
    messages: [
      user({ type: "image", data: PNG, mimeType: "image/png" }),
      user(said("Please analyze the image above.")),
    ],
  }));
  prompt("test_input_required_result_prompt", null, async (ctx) => {
    const question = form("What context should the prompt use?", object({ context: string }));
    const { ask, found } = await answers(ctx, { user_context: question });
    return ask ?? { messages: [user(said(`Use this context: ${found.user_context.content.context}`))] };
  });
}

serve(serverOf, { bus });
