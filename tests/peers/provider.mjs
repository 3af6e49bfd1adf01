// An OpenID provider for the service at the URL in the first argument: people sign in by typing a
// name, with any password. Prints its own URL.
import { createServer } from "node:http";
import Provider from "oidc-provider";

const [site] = process.argv.slice(2);
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: "entreat",
      client_secret: "a secret of a client",
      redirect_uris: [`${site}/sign-in/callback`],
      post_logout_redirect_uris: [`${site}/signed-out`],
      backchannel_logout_uri: `${site}/sign-in/back-channel-logout`,
      backchannel_logout_session_required: true,
    }],
    claims: { openid: ["sub"], profile: ["name"] },
    // The ID token is all that is read.
    conformIdTokenClaims: false,
    cookies: { keys: ["a key for tests"] },
    features: { backchannelLogout: { enabled: true }, devInteractions: { enabled: true } },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, name: `${id[0].toUpperCase()}${id.slice(1)} Test` }),
    }),
    pkce: { required: () => true },
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
