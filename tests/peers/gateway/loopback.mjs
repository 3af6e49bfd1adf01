// Loaded before a server that would listen on all interfaces: it listens on this machine only.

import { Server } from "node:net";

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  const isPort = typeof port === "number" || typeof port === "string";
  return isPort && typeof rest[0] !== "string"
    ? listen.call(this, Number(port), "127.0.0.1", ...rest)
    : listen.call(this, port, ...rest);
};
