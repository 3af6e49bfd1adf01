// Drives a server by the client of the TypeScript SDK v2: stdio and HTTP, both eras.
//
//     everything.mjs [--peer] URL COMMAND [ARGUMENT...]
//
// The server is Entreat's example `everything`. With `--peer` it is one of `servers/`, which has
// nothing for clients without elicitation. One line a check; the first that fails ends it with 1.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Client, ProtocolError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const form = JSON.parse(readFileSync(new URL("form.json", import.meta.url), "utf8"));
const full = {
  name: "Ada",
  age: 36,
  mail: "ada@example.com",
  color: "r",
  tags: ["a", "c"],
  ok: false,
};
const page = "https://example.com/connect?from=typescript&to=%C3%A9";
const limit = 30_000;
const eras = { "2025-11-25": "legacy", "2026-07-28": { pin: "2026-07-28" } };

const rest = process.argv.slice(2);
const isPeer = rest[0] === "--peer";
const [url, command, ...args] = isPeer ? rest.slice(1) : rest;
const transports = {
  stdio: () => new StdioClientTransport({ command, args, stderr: "ignore" }),
  http: () => new StreamableHTTPClientTransport(new URL(url)),
};

/** Answers with what was prepared, and remembers what was asked. */
class Person {
  asked = [];

  constructor(...answers) {
    this.answers = answers;
  }

  answer(params) {
    this.asked.push(params);
    assert.ok(this.answers.length > 0, `asked once too often: ${JSON.stringify(params)}`);
    const next = this.answers.shift();
    return typeof next === "function" ? next(params) : next;
  }
}

const accept = (content) => ({ action: "accept", content });

/** A connection, closed whatever becomes of `work`. */
async function connected({ era, transport }, person, work) {
  const options = { versionNegotiation: { mode: eras[era] }, capabilities: {} };
  if (person) options.capabilities.elicitation = { form: {}, url: {} };
  const client = new Client({ name: "typescript-peer", version: "1.0.0" }, options);
  if (person) client.setRequestHandler("elicitation/create", ({ params }) => person.answer(params));
  await client.connect(transports[transport]());
  try {
    assert.equal(client.getNegotiatedProtocolVersion(), era);
    return await work(client);
  } finally {
    await client.close();
  }
}

const said = (result) =>
  result.content
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("");

/** What a tool answers, once everything that was prepared has been asked for. */
async function call(place, person, name, args = {}) {
  const result = await connected(place, person, (client) => client.callTool({ name, arguments: args }));
  assert.ok(!result.isError, said(result));
  assert.equal(person.answers.length, 0, `asked too little: ${said(result)}`);
  return said(result);
}

/** Fails unless all that is wanted is there; there may be more. */
function holds(found, wanted) {
  if (wanted === null || typeof wanted !== "object" || Array.isArray(wanted)) {
    return assert.deepEqual(found, wanted);
  }
  for (const [key, value] of Object.entries(wanted)) holds(found?.[key], value);
}

/** Some answer to any form of required fields. */
function filled({ requestedSchema: { properties, required } }) {
  const some = { boolean: true, integer: 1, number: 1, string: "yes", array: [] };
  const names = required ?? Object.keys(properties);
  return accept(Object.fromEntries(names.map((name) => [name, some[properties[name].type]])));
}

const checks = {
  async "a form is asked and its answer arrives"(place) {
    const person = new Person(accept(full));
    const text = await call(place, person, "ask_form");
    const [, content] = text.match(/^form:accept:(.*)$/) ?? assert.fail(text);
    assert.deepEqual(Object.entries(JSON.parse(content)), Object.entries(full).sort());
    const [asked] = person.asked;
    assert.equal(asked.mode ?? "form", "form");
    assert.ok(asked.message.startsWith(form.message), asked.message);
    holds(asked.requestedSchema, form.requestedSchema);
    const fields = Object.keys(asked.requestedSchema.properties);
    assert.deepEqual(fields, Object.keys(form.requestedSchema.properties));
  },

  async "a decline is a decline, a cancel a cancel"(place) {
    for (const action of ["decline", "cancel"]) {
      const text = await call(place, new Person({ action }), "ask_form");
      assert.ok(text.startsWith(`form:${action}:`), text);
    }
  },

  async "an invalid answer is asked for again, with what is wrong"(place) {
    const person = new Person(accept({ ...full, name: "A", age: 200 }), accept(full));
    const text = await call(place, person, "ask_form");
    assert.ok(text.startsWith("form:accept:"), text);
    const [first, second] = person.asked.map((asked) => asked.message);
    assert.ok(second.length > first.length && second.includes(form.message), second);
  },

  async "two questions come one after the other"(place) {
    const answer = ({ requestedSchema }) => {
      const [name] = Object.keys(requestedSchema.properties);
      return accept({ [name]: { name: "Ada", color: "blue" }[name] });
    };
    assert.equal(await call(place, new Person(answer, answer), "ask_two"), "two:Ada:blue");
  },

  async "a page is asked for"(place) {
    for (const action of ["accept", "decline", "cancel"]) {
      const person = new Person({ action });
      assert.equal(await call(place, person, "ask_url", { url: page }), `url:${action}`);
      const [asked] = person.asked;
      assert.equal(asked.mode, "url");
      assert.equal(asked.url, page);
      assert.notEqual(asked.message, "");
      assert.equal(typeof asked.elicitationId, place.isModern ? "undefined" : "string");
    }
  },

  async "a page is asked for by error -32042"(place) {
    if (place.isModern) return "not in this era";
    const refused = connected(place, new Person(), (client) =>
      client.callTool({ name: "url_error", arguments: {} }),
    );
    await assert.rejects(refused, (error) => {
      assert.equal(error.code, -32042);
      assert.ok(error.data.elicitations.length > 0);
      for (const each of error.data.elicitations) {
        assert.equal(each.mode, "url");
        assert.match(each.url, /^https?:/);
        assert.ok(each.message !== "" && each.elicitationId !== "");
      }
      return true;
    });
  },

  async "what happens once happens once"(place) {
    const count = async () => {
      const text = await call(place, new Person(filled), "ask_once");
      return Number(text.match(/\d+/)?.[0] ?? assert.fail(text));
    };
    const first = await count();
    // A server over HTTP has run before; one over stdio was started for this call.
    assert.ok(first === 1 || place.transport === "http", `counted ${first}`);
    const second = await count();
    assert.ok([0, 1].includes(second - first), `counted ${first}, then ${second}`);
  },

  async "a client without elicitation learns what to do"(place) {
    await connected(place, null, async (client) => {
      const tools = (await client.listTools()).tools.map((tool) => tool.name);
      assert.ok(tools.includes("ask_form"));
      assert.ok(isPeer || tools.includes("resume_question"), tools.join(" "));
      try {
        const result = await client.callTool({ name: "ask_form", arguments: {} });
        const link = /https?:\/\/\S+/.test(said(result));
        assert.ok(link || (result.isError && /elicit/i.test(said(result))), said(result));
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        assert.match(error.message, /elicitation/i);
        assert.ok(isPeer || !place.isModern || error.code === -32021, `code ${error.code}`);
      }
    });
  },
};

/** Fails what takes too long. */
function inTime(work) {
  const late = new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`no end after ${limit} ms`)), limit).unref();
  });
  return Promise.race([work, late]);
}

for (const era of Object.keys(eras)) {
  for (const transport of Object.keys(transports)) {
    const place = { era, transport, isModern: era >= "2026" };
    for (const [name, check] of Object.entries(checks)) {
      const line = `typescript ${era} ${transport.padEnd(5)}: ${name}`;
      try {
        const skipped = await inTime(check(place));
        if (!skipped) console.log(line);
      } catch (error) {
        console.log(`${line}: FAILED: ${error.stack}`);
        process.exit(1);
      }
    }
  }
}
process.exit(0);
