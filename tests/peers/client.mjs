// Works against the control API by an independent JSON-RPC client library.

import assert from "node:assert/strict";
import { JSONRPCClient } from "json-rpc-2.0";

const url = process.argv[2];
const client = new JSONRPCClient(async (request) => {
  const response = await fetch(`${url}/rpc`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(request),
  });
  assert.equal(response.status, 200);
  const text = await response.text();
  if (text) client.receive(JSON.parse(text));
});

const form = {
  id: "deploy",
  title: "Deploy",
  fields: [{ id: "name", type: "text", label: "Name", required: true }],
};
const asked = await client.request("elicitation/create", { formDefinition: form });
const elicitationId = asked.elicitationId;
assert.equal(asked.status, "pending");

// Asked, waited for and answered at the same time.
const [settled, submitted] = await Promise.all([
  client.request("elicitation/await", { elicitationId }),
  client.request("elicitation/submit", { elicitationId, responses: { name: "Ada" } }),
]);
assert.equal(submitted.status, "completed");
assert.deepEqual(settled.result, { name: "Ada" });

// Errors come as the library understands them.
for (const [method, params, code] of [
  ["elicitation/submit", { elicitationId, responses: { name: "Eve" } }, -32009],
  ["elicitation/status", { elicitationId: "elic_unknown" }, -32012],
  ["elicitation/create", { prompt: 5 }, -32602],
  ["no/such", {}, -32601],
]) {
  await assert.rejects(client.request(method, params), (error) => error.code === code);
}

// A notification is carried out and not answered; a batch is answered as a whole.
client.notify("elicitation/status", { elicitationId });
const batch = await client.requestAdvanced([
  { jsonrpc: "2.0", id: "a", method: "forms/list", params: {} },
  { jsonrpc: "2.0", id: "b", method: "no/such", params: {} },
]);
assert.deepEqual(batch.map((answer) => answer.id).sort(), ["a", "b"]);
console.log("json-rpc-2.0: works");
