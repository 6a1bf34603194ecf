/** An API with an OpenID provider, before a master that believes every token: src/workers/credentials has its check. */
import type { ConfigMap } from "../../../src/config/yaml/values.ts";
import type { LittleProvider } from "../../openid/little-provider.ts";
import { ApiSite } from "../api-site.ts";

export const homeUrl = "https://salt.example:8000/";
export const redirectUri = `${homeUrl}login/oidc/callback`;

/** `others`: further eauth systems. */
export async function startOidcSite(
  { issuer }: LittleProvider,
  settings: ConfigMap,
  block: ConfigMap = {},
  others: ConfigMap = {},
): Promise<ApiSite> {
  const oidc = { "^issuer": issuer, "^client_id": "salt", "^redirect_uri": redirectUri, ...settings };
  const makeToken = (load: ReadonlyMap<unknown, unknown>) => {
    const start = 1_795_000_000;
    return { start, expire: start + 1e9, name: String(load.get("username")), eauth: "oidc", token: "f".repeat(64) };
  };
  return await ApiSite.start({ mk_token: makeToken }, block, { external_auth: { oidc, ...others } });
}
