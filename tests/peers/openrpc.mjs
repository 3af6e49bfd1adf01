// Checks the OpenRPC document by an independent validator, which also resolves its references.

import assert from "node:assert/strict";
import { parseOpenRPCDocument, validateOpenRPCDocument } from "@open-rpc/schema-utils-js";

const response = await fetch(`${process.argv[2]}/openrpc.json`);
assert.equal(response.status, 200);
const document = await response.json();
const problems = validateOpenRPCDocument(document);
assert.equal(problems, true, String(problems));
const parsed = await parseOpenRPCDocument(document);
assert.ok(parsed.methods.length >= 12);
console.log(`@open-rpc/schema-utils-js: ${parsed.methods.length} methods are described soundly`);
