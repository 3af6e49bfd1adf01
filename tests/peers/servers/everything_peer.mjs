// A server of the TypeScript SDK v2 in both eras: `everything_peer.mjs stdio` or `--port N`.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import { createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { serverOf } from "./tools.mjs";

const [how, port] = process.argv.slice(2);
if (how === "stdio") {
  serveStdio(serverOf);
} else if (how === "--port") {
  listen(Number(port));
} else {
  console.error("usage: everything_peer.mjs stdio | --port N");
  process.exit(2);
}

function listen(port) {
  const modern = toNodeHandler(createMcpHandler(serverOf, { legacy: "reject" }));
  const sessions = new Map();

  /** A session of 2025, made by its first request. */
  async function legacy(request, response, body) {
    let transport = sessions.get(request.headers["mcp-session-id"]);
    if (!transport) {
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport),
      });
      await serverOf({ era: "legacy" }).connect(transport);
    }
    await transport.handleRequest(request, response, body);
  }

  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const body = pieces.length > 0 ? JSON.parse(Buffer.concat(pieces)) : undefined;
    if (await isLegacyRequest(await toWebRequest(request, body), body)) {
      await legacy(request, response, body);
    } else {
      await modern(request, response, body);
    }
  });
  server.listen(port, "127.0.0.1", () => {
    console.error(`listening on http://127.0.0.1:${server.address().port}/mcp`);
  });
}
