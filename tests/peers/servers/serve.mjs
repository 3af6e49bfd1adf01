// Serves what `serverOf` makes, in both eras: `stdio` or `--port N`. Over HTTP, `--port N legacy` or
// `--port N modern` serves one era only, and the other gets what it gets from older or stricter SDKs.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from "@modelcontextprotocol/node";
import { createMcpHandler, isLegacyRequest } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const LOCAL = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;

/** `serverOf` makes a server for one connection, or for one request of 2026-07-28. */
export function serve(serverOf, options = {}) {
  const [how, port, only] = process.argv.slice(2);
  if (how === "stdio") {
    serveStdio(serverOf);
  } else if (how === "--port") {
    listen(serverOf, Number(port), { ...options, only });
  } else {
    console.error(`usage: ${process.argv[1]} stdio | --port N`);
    process.exit(2);
  }
}

function listen(serverOf, port, { bus, only }) {
  const modern = toNodeHandler(createMcpHandler(serverOf, { legacy: "reject", bus }));
  const sessions = new Map();

  /** A session of 2025, made by its first request. */
  async function legacy(request, response, body) {
    const id = request.headers["mcp-session-id"];
    let transport = sessions.get(id);
    if (id && !transport) {
      response.writeHead(404).end();
      return;
    }
    if (!transport) {
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport),
        onsessionclosed: (id) => sessions.delete(id),
      });
      await serverOf({ era: "legacy" }).connect(transport);
    }
    await transport.handleRequest(request, response, body);
  }

  const server = createServer(async (request, response) => {
    const { host, origin } = request.headers;
    // A name that its owner points at this machine.
    if (!LOCAL.test(host) || (origin && !LOCAL.test(new URL(origin).host))) {
      response.writeHead(403).end();
      return;
    }
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const body = pieces.length > 0 ? JSON.parse(Buffer.concat(pieces)) : undefined;
    const isLegacy = await isLegacyRequest(await toWebRequest(request, body), body);
    if (!isLegacy && only === "legacy") {
      const error = { code: -32000, message: "Bad Request: Unsupported protocol version" };
      response.writeHead(400, { "Content-Type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error }));
    } else if (isLegacy && only !== "modern") {
      await legacy(request, response, body);
    } else {
      await modern(request, response, body);
    }
  });
  server.listen(port, "127.0.0.1", () => {
    console.error(`listening on http://127.0.0.1:${server.address().port}/mcp`);
  });
}
