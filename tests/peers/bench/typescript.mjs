// One tool call that asks one form, with the TypeScript SDK v2: how many a second, one at a time.
//
//     typescript.mjs [SECONDS]     measures; a JSON line for each transport and era
//     typescript.mjs serve         is the server over stdio
//
// The server asks as each era's own guide says; the person answers at once.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { McpServer, inputRequired, inputResponse } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";

const form = JSON.parse(readFileSync(new URL("../form.json", import.meta.url), "utf8"));
const answer = { action: "accept", content: { name: "Ada", age: 36, mail: "ada@example.com", color: "r" } };
const check = new AjvJsonSchemaValidator().getValidator(form.requestedSchema);
const eras = { "2025-11-25": "legacy", "2026-07-28": { pin: "2026-07-28" } };

function serverOf({ era }) {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  const described = { description: "Asks one form" };
  server.registerTool("ask_form", described, async ({ mcpReq }) => {
    let given;
    if (era === "modern") {
      given = inputResponse(mcpReq.inputResponses, "form");
      if (given.kind !== "elicit") {
        return inputRequired({ inputRequests: { form: inputRequired.elicit(form) } });
      }
    } else {
      given = await mcpReq.elicitInput(form);
    }
    assert.ok(check(given.content).valid);
    return { content: [{ type: "text", text: `form:${given.action}:${given.content.name}` }] };
  });
  return server;
}

/** Calls for so many seconds, after a quarter of that to get going. */
async function measure(transport, era, seconds) {
  const options = {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: eras[era] },
  };
  const client = new Client({ name: "bench", version: "1.0.0" }, options);
  client.setRequestHandler("elicitation/create", () => answer);
  await client.connect(transport());
  assert.equal(client.getNegotiatedProtocolVersion(), era);
  const run = async (limit) => {
    let calls = 0;
    const start = performance.now();
    while (performance.now() - start < limit * 1000) {
      const { content } = await client.callTool({ name: "ask_form", arguments: {} });
      assert.equal(content[0].text, "form:accept:Ada");
      calls += 1;
    }
    return calls / ((performance.now() - start) / 1000);
  };
  await run(seconds / 4);
  const rate = await run(seconds);
  await client.close();
  return rate;
}

function inProcess() {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  serveStdio(serverOf, { transport: theirs });
  return ours;
}

function stdio() {
  const args = [fileURLToPath(import.meta.url), "serve"];
  return new StdioClientTransport({ command: process.execPath, args });
}

if (process.argv[2] === "serve") {
  serveStdio(serverOf);
} else {
  const seconds = Number(process.argv[2] ?? 3);
  for (const [transport, open] of Object.entries({ "in-process": inProcess, stdio })) {
    for (const era of Object.keys(eras)) {
      const calls_per_second = Math.round(await measure(open, era, seconds));
      console.log(JSON.stringify({ rival: "typescript", transport, era, calls_per_second }));
    }
  }
}
