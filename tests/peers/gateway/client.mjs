// Carries out a script with the client of the TypeScript SDK 1 or 2, and prints every message.
//
//     client.mjs SDK < script.json
//
// The script names a server, a protocol version, capabilities, how questions are answered, and the
// requests to send. Messages are recorded as they pass the transport, before the SDK reads them.

import { text } from "node:stream/consumers";
import { z } from "zod";

const sdk = process.argv[2];
const script = JSON.parse(await text(process.stdin));
const { command, url, version, capabilities = {}, answers = {}, steps, env } = script;
const modern = version >= "2026";
const log = [];

const child = url ? null : { command: command[0], args: command.slice(1), env, stderr: "inherit" };
const info = { name: "recorder", version: "1.0.0" };

/** Answers as the script says; a method without an answer is never answered. */
async function answer(method, params) {
  const prepared = answers[method];
  if (prepared === undefined) return new Promise(() => {});
  // As long as it takes to read: what comes sooner is not believed to be a person's.
  if (method === "elicitation/create") await sleep(350);
  if (method === "elicitation/create" && (params.mode ?? "form") in prepared) {
    return prepared[params.mode ?? "form"];
  }
  return prepared;
}

async function first() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const types = await import("@modelcontextprotocol/sdk/types.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await import(
    "@modelcontextprotocol/sdk/client/streamableHttp.js"
  );
  const client = new Client(info, { capabilities });
  const schemas = {
    elicitation: [types.ElicitRequestSchema, "elicitation/create"],
    sampling: [types.CreateMessageRequestSchema, "sampling/createMessage"],
    roots: [types.ListRootsRequestSchema, "roots/list"],
  };
  for (const [capability, [schema, method]] of Object.entries(schemas)) {
    if (capability in capabilities) {
      client.setRequestHandler(schema, ({ params }) => answer(method, params));
    }
  }
  const transport = url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport(child);
  const request = (method, params, options) =>
    client.request({ method, params }, types.ResultSchema, options);
  return { client, transport, request };
}

async function second() {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const mode = modern ? { pin: version } : "legacy";
  const client = new Client(info, { capabilities, versionNegotiation: { mode } });
  const methods = {
    elicitation: "elicitation/create",
    sampling: "sampling/createMessage",
    roots: "roots/list",
  };
  for (const [capability, method] of Object.entries(methods)) {
    if (capability in capabilities) {
      client.setRequestHandler(method, ({ params }) => answer(method, params));
    }
  }
  const transport = url
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport(child);
  // A method that the SDK doesn't know needs a schema.
  const anything = z.looseObject({});
  const request = (method, params, options) =>
    method.startsWith("vendor/")
      ? client.request({ method, params }, anything, options)
      : client.request({ method, params }, options);
  return { client, transport, request };
}

const { client, transport, request } = await (sdk === "1" ? first() : second());

const send = transport.send.bind(transport);
transport.send = (message, options) => {
  // SDKs offer their newest version only; older clients offered theirs.
  if (!modern && message.method === "initialize") message.params.protocolVersion = version;
  log.push({ dir: "out", message: structuredClone(message) });
  return send(message, options);
};
transport.onmessage = (message) => log.push({ dir: "in", message: structuredClone(message) });

/** The id of the last task that a server made. */
const task = () => log.findLast(({ message }) => message.result?.task)?.message.result.task.taskId;

const sleep = (time) => new Promise((done) => setTimeout(done, time));
let failed = null;
try {
  await client.connect(transport);
  for (const step of steps) {
    log.push({ dir: "step", message: step });
    if (step.sleep) {
      await sleep(step.sleep);
    } else if (step.checked) {
      // As programs call a tool: the SDK checks the result against the schema that was listed.
      await client.listTools();
      await client.callTool(step.params);
    } else if (step.notify) {
      await client.notification({ method: step.notify, params: step.params });
    } else {
      // A task is named by the server that made it.
      const params = step.params?.taskId === "$task" ? { ...step.params, taskId: task() } : step.params;
      const options = { timeout: 60_000, resetTimeoutOnProgress: true };
      if (step.progress) options.onprogress = () => {};
      const stop = step.cancel && new AbortController();
      if (stop) {
        options.signal = stop.signal;
        setTimeout(() => stop.abort("changed my mind"), step.cancel);
      }
      try {
        await request(step.method, params, options);
      } catch (error) {
        // Errors are messages too; anything else is a failure of the run.
        if (!stop && typeof error.code !== "number") throw error;
      }
    }
  }
} catch (error) {
  failed = String(error?.stack ?? error);
}
process.stdout.write(JSON.stringify({ failed, log }), () => {
  // Closing is not part of what is compared, but a server must get the chance to end.
  Promise.race([client.close(), sleep(3000)]).finally(() => process.exit(0));
});
