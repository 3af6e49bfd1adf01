// Asks a person which environment to deploy to, using `fetch`.
//
//     npx tsx examples/ask.ts [URL]
//
// `entreat serve` must be running, by default at http://127.0.0.1:7171. If it requires a key, set
// ENTREAT_KEY.

type Asked = { elicitationId: string; page: string };

type Settled = {
  status: "completed" | "declined" | "cancelled" | "timeout";
  result?: Record<string, unknown>;
};

/** Creates a client for one service. A call resolves to the method's result, or rejects with its error. */
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
  const call = connect(process.argv[2] ?? "http://127.0.0.1:7171", process.env.ENTREAT_KEY);
  const { elicitationId, page } = await call<Asked>("elicitation/create", {
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
  console.error("open this link to answer:", page);
  const settled = await call<Settled>("elicitation/await", { elicitationId });
  if (settled.status === "completed") console.log("deploying to", settled.result?.target);
  else console.log("nobody decided:", settled.status);
}

main();
