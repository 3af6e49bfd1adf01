// Asks a person which environment to deploy to, from TypeScript with `fetch`.
//
//     npx tsx examples/ask.ts http://127.0.0.1:7171
//
// `entreat serve` has to run there. Set ENTREAT_KEY if it wants a key.

type Settled = {
  status: "completed" | "declined" | "cancelled" | "timeout";
  result?: Record<string, unknown>;
};

/** A client for one service: resolves to a method's result, rejects with what it was refused for. */
function connect(url: string, key?: string) {
  let id = 0;
  return async function call<Result>(method: string, params: object): Promise<Result> {
    const response = await fetch(`${url}/rpc`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        ...(key ? { Authorization: `Bearer ${key}` } : {}),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: ++id, method, params }),
    });
    const answer = await response.json();
    if (answer.error) throw new Error(`${answer.error.code}: ${answer.error.message}`);
    return answer.result;
  };
}

async function main() {
  const call = connect(process.argv[2], process.env.ENTREAT_KEY);
  const { elicitationId } = await call<{ elicitationId: string }>("elicitation/create", {
    message: "The build is green.",
    formDefinition: {
      id: "deploy",
      title: "Deploy",
      fields: [
        {
          id: "target",
          type: "select",
          label: "Where to?",
          required: true,
          options: ["staging", "production"],
        },
      ],
    },
  });
  console.error("asked:", elicitationId);
  const settled = await call<Settled>("elicitation/await", { elicitationId });
  if (settled.status === "completed") console.log("deploying to", settled.result?.target);
  else console.log("nobody decided:", settled.status);
}

main();
