// The tools of a server written with the TypeScript SDK, one handler each for both eras.
//
// They answer as those of Entreat's own example `everything` do, so that one client can try both.

import { readFileSync } from "node:fs";
import {
  McpServer,
  UrlElicitationRequiredError,
  inputRequired,
  inputResponse,
} from "@modelcontextprotocol/server";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { z } from "zod";

export const form = JSON.parse(readFileSync(new URL("../form.json", import.meta.url), "utf8"));
const check = new AjvJsonSchemaValidator().getValidator(form.requestedSchema);

const text = (words) => ({ content: [{ type: "text", text: words }] });

const sorted = (content) =>
  JSON.stringify(Object.fromEntries(Object.entries(content ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))));

/** A question of one required text. */
const one = (id, message) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: "object", properties: { [id]: { type: "string" } }, required: [id] },
  });

/** How often `url_error` has refused since it last went through. */
let refused = 0;
/** How often `ask_once` has done what it does once. */
let done = 0;

/** A server for one connection, or for one request of 2026-07-28. */
export function serverOf({ era }) {
  const server = new McpServer({ name: "typescript-peer", version: "1.0.0" });
  const tool = (name, description, handler, shape = {}) =>
    server.registerTool(name, { description, inputSchema: z.object(shape) }, handler);

  tool("ask_form", "Asks one form", async (_, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "form");
    if (answer.kind !== "elicit") {
      return inputRequired({ inputRequests: { form: inputRequired.elicit(form) } });
    }
    const judged = answer.action === "accept" ? check(answer.content) : { valid: true };
    if (!judged.valid) {
      const message = `${form.message} ${judged.errorMessage}`;
      return inputRequired({ inputRequests: { form: inputRequired.elicit({ ...form, message }) } });
    }
    return text(`form:${answer.action}:${sorted(answer.content)}`);
  });

  tool("ask_two", "Asks for a name, then for a color", async (_, { mcpReq }) => {
    const name = inputResponse(mcpReq.inputResponses, "name");
    const color = inputResponse(mcpReq.inputResponses, "color");
    if (color.kind === "elicit") {
      return text(`two:${mcpReq.requestState()}:${color.content?.color ?? color.action}`);
    }
    if (name.kind === "elicit") {
      return inputRequired({
        inputRequests: { color: one("color", "Which color?") },
        requestState: name.content?.name ?? name.action,
      });
    }
    return inputRequired({ inputRequests: { name: one("name", "What is your name?") } });
  });

  tool(
    "ask_url",
    "Sends the person to an address",
    async ({ url }, { mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, "page");
      if (answer.kind === "elicit") return text(`url:${answer.action}`);
      const page = inputRequired.elicitUrl({ message: "Please open this page", url });
      return inputRequired({ inputRequests: { page } });
    },
    { url: z.string() },
  );

  tool(
    "url_error",
    "Refuses until the person was at an address; 2025 only",
    async ({ times }, { mcpReq }) => {
      if (era === "modern") {
        return { ...text("url_error: this era has no such error"), isError: true };
      }
      if (refused >= times) {
        refused = 0;
        return text("url_error:done");
      }
      refused += 1;
      const elicitationId = `peer-${refused}`;
      const url = `https://example.com/connect/${refused}`;
      const told = { method: "notifications/elicitation/complete", params: { elicitationId } };
      setTimeout(() => server.server.notification(told).catch(() => {}), 300);
      throw new UrlElicitationRequiredError([
        { mode: "url", message: "Please connect your account", url, elicitationId },
      ]);
    },
    { times: z.number().int().default(1) },
  );

  tool("ask_once", "Counts before it asks", async (_, { mcpReq }) => {
    const answer = inputResponse(mcpReq.inputResponses, "go");
    if (answer.kind === "elicit") return text(`once:${mcpReq.requestState()}`);
    done += 1;
    return inputRequired({ inputRequests: { go: one("word", "Go on?") }, requestState: String(done) });
  });
  return server;
}
