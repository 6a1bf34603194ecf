/** `/logout/oidc`: closes a browser's session, and sends the browser on to end its login at the OpenID provider. */
import { createHash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { apiLoginBodyBytesMax } from "../../limits.ts";
import { type LogoutForm, providerLogout } from "../../openid/provider-logout.ts";
import { type BrowserLogin, logoutPath } from "../../openid/settings.ts";
import { leaveProviderSchema } from "../schemas/sessions.ts";
import { closeSession } from "../sessions/close-session.ts";
import type { Api } from "../sessions/context.ts";
import { pageHeaders } from "./dashboard.ts";
import { errorPage, escaped, pageAround } from "./error-page.ts";
import { ofProvider, secretHeaders } from "./oidc-login.ts";

const remainingText = "Logged out here, but not at the OpenID provider, which gives no valid answer";

/** The only script of the page. Without it the user presses the button. */
const script = "document.forms[0].submit()";
const scriptHash = createHash("sha256").update(script).digest("base64");
/** The page's form leaves this origin, and the provider may send the browser through others before it comes back: no `form-action`. */
const policy = pageHeaders["content-security-policy"]
  .replace("script-src 'self'", `script-src 'sha256-${scriptHash}'`)
  .replace(" form-action 'self';", "");

/** A page, because the dashboard's own policy would keep its form from a redirect to the provider. */
function leavingPage(homeUrl: string, { method, address, fields }: LogoutForm): string {
  const inputs = Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`)
    .join("");
  const body = `<p>Logged out here. The OpenID provider ends its own login next.</p>
      <form method="${method}" action="${escaped(address)}">${inputs}<button type="submit" class="primary">Go on</button></form>
      <script>${script}</script>`;
  return pageAround(homeUrl, "Logging out", body);
}

export function oidcLogoutRoute(app: FastifyInstance, api: Api, login: BrowserLogin): void {
  const config = { errorPage: errorPage(login.homeUrl, "Logout failed") };
  const options = { bodyLimit: apiLoginBodyBytesMax, config, schema: leaveProviderSchema };
  app.post(logoutPath, options, async (request, reply) => {
    reply.headers(secretHeaders);
    // Here it ends in any case.
    const { atProvider } = closeSession(api, request, reply);
    const form = await ofProvider(providerLogout(login, atProvider?.idToken), remainingText);
    reply.headers({ ...pageHeaders, ...secretHeaders, "content-security-policy": policy });
    return await reply.header("content-type", "text/html; charset=utf-8").send(leavingPage(login.homeUrl, form));
  });
}
