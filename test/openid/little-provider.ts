/** A little OpenID provider on loopback, for tests: it issues codes and ID tokens as it should, or with the faults that a test asks for. */
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

export type ProviderKey = {
  readonly kid: string;
  readonly alg: string;
  readonly pair: Awaited<ReturnType<typeof generateKeyPair>>;
};

export async function newKey(kid: string, alg = "RS256"): Promise<ProviderKey> {
  return { kid, alg, pair: await generateKeyPair(alg) };
}

type Grant = { readonly query: URLSearchParams; readonly claims: JWTPayload };
export type ProviderPath = "document" | "keys" | "token";
const paths: Readonly<Record<string, ProviderPath>> = {
  "/.well-known/openid-configuration": "document",
  "/keys": "keys",
  "/token": "token",
};
const hugeBytes = 50 * 1024 * 1024;

export class LittleProvider {
  readonly clientId = "salt";
  /** Undefined: a public client. */
  clientSecret: string | undefined;
  /** Published keys; the first one signs. */
  keys: ProviderKey[] = [];
  /** Instead of the signed token. */
  forge: ((claims: JWTPayload) => string) | undefined;
  /** Added to the document. */
  document: Readonly<Record<string, unknown>> = {};
  readonly hanging = new Set<ProviderPath>();
  readonly huge = new Set<ProviderPath>();
  /** How often each path was asked for. */
  readonly asked: Record<ProviderPath, number> = { document: 0, keys: 0, token: 0 };
  /** Bytes of huge answers that were taken. */
  sentBytes = 0;
  readonly #grants = new Map<string, Grant>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<LittleProvider> {
    const server = createServer();
    const provider = new LittleProvider(server);
    provider.keys = [await newKey("k1")];
    server.on("request", (request, response) => void provider.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** What the user's login at the provider gives: the address to which it sends the browser back. */
  authorize(address: string, claims: JWTPayload = {}): URL {
    const { searchParams: query } = new URL(address);
    const code = randomBytes(16).toString("hex");
    this.#grants.set(code, { query, claims });
    const back = new URL(query.get("redirect_uri") ?? "");
    back.searchParams.set("code", code);
    back.searchParams.set("state", query.get("state") ?? "");
    return back;
  }

  async sign(claims: JWTPayload, header: object = {}, key = this.keys[0]): Promise<string> {
    if (key === undefined) throw new Error("the provider has no key");
    const nowSeconds = Math.floor(Date.now() / 1_000);
    const standard = { iss: this.issuer, aud: this.clientId, sub: "1", iat: nowSeconds, exp: nowSeconds + 300 };
    const payload = { ...standard, preferred_username: "ann", groups: ["ops", 5], ...claims };
    if (this.forge !== undefined) return this.forge(payload);
    return await new SignJWT(payload as JWTPayload)
      .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
      .sign(key.pair.privateKey);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = paths[request.url ?? ""];
    if (path === undefined) return void response.writeHead(404).end();
    this.asked[path] += 1;
    if (this.hanging.has(path)) return;
    response.setHeader("content-type", "application/json");
    if (this.huge.has(path)) return this.#flood(response);
    const body = path === "document" ? this.#description() : path === "keys" ? await this.#keySet() : undefined;
    if (body !== undefined) return void response.end(JSON.stringify(body));
    const given = await this.#token(request, new URLSearchParams(await text(request)));
    response.writeHead(given === undefined ? 400 : 200);
    response.end(JSON.stringify(given ?? { error: "invalid_grant", error_description: "a secret of the provider" }));
  }

  #description(): object {
    const { issuer } = this;
    return {
      issuer,
      authorization_endpoint: `${issuer}/auth?tenant=1`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      ...this.document,
    };
  }

  async #keySet(): Promise<object> {
    const published = this.keys.map(async ({ kid, alg, pair }) => ({ ...(await exportJWK(pair.publicKey)), kid, alg }));
    return { keys: await Promise.all(published) };
  }

  /** Undefined if anything about the code is wrong. A code is good once. */
  async #token({ headers }: IncomingMessage, form: URLSearchParams): Promise<object | undefined> {
    const code = form.get("code") ?? "";
    const grant = this.#grants.get(code);
    this.#grants.delete(code);
    if (grant === undefined || !this.#isClient(headers.authorization, form)) return undefined;
    const { query, claims } = grant;
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isSame = query.get("code_challenge_method") === "S256" && query.get("code_challenge") === challenge;
    if (!isSame || form.get("redirect_uri") !== query.get("redirect_uri")) return undefined;
    const token = await this.sign({ nonce: query.get("nonce") ?? "", ...claims });
    return { access_token: "opaque", token_type: "Bearer", id_token: token };
  }

  #isClient(authorization: string | undefined, form: URLSearchParams): boolean {
    const { clientId, clientSecret } = this;
    if (clientSecret === undefined) return form.get("client_id") === clientId && authorization === undefined;
    const ways = (this.document.token_endpoint_auth_methods_supported as string[] | undefined) ?? [
      "client_secret_basic",
    ];
    // Both are encoded as in a form: RFC 6749 section 2.3.1.
    const basic = decodeURIComponent(Buffer.from(authorization?.slice("Basic ".length) ?? "", "base64").toString());
    if (ways.includes("client_secret_basic"))
      return basic === `${clientId}:${clientSecret}` && !form.has("client_secret");
    return form.get("client_id") === clientId && form.get("client_secret") === clientSecret;
  }

  #flood(response: ServerResponse): void {
    const part = Buffer.alloc(64 * 1024, 32);
    const more = () => {
      while (this.sentBytes < hugeBytes && !response.destroyed) {
        this.sentBytes += part.byteLength;
        if (!response.write(part)) return void response.once("drain", more);
      }
      response.end();
    };
    more();
  }
}
