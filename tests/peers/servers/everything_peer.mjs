// A server of the TypeScript SDK v2 in both eras: `everything_peer.mjs stdio` or `--port N`.

import { serve } from "./serve.mjs";
import { serverOf } from "./tools.mjs";

serve(serverOf);
