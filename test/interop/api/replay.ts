/** Sends recorded exchanges again: with this fleet's sessions, tokens and job ids in place of the recorded ones. */
import { setImmediate as turn } from "node:timers/promises";
import { parse } from "yaml";
import { type ApiDocument, Description } from "../../api/described.ts";
import { differencesOf } from "./comparable.ts";
import type { Exchange } from "./recorded.ts";
import type { Answer, ReplayFleet } from "./replay-fleet.ts";
import { type Expected, headerForm, isErrorBody, type RuleName, withoutCode, withRules } from "./rules.ts";

const jobTimeoutMs = 60_000;
const sessionForm = /\b[0-9a-f]{40}\b/g;
const idForm = /\b(?:[0-9a-f]{64}|[0-9a-f]{40}|20\d{18})\b/g;
/** Headers that clients read. `Allow` and `Last-Modified` are not compared. */
const readHeaders = "content-type x-auth-token www-authenticate content-disposition set-cookie cache-control".split(
  " ",
);
const originHeader = "access-control-allow-origin";

export type Compared = {
  readonly status: number;
  readonly body: unknown;
  readonly differences: readonly string[];
  readonly rules: ReadonlySet<RuleName>;
};

export class Replay {
  readonly #fleet: ReplayFleet;
  /** Ours by the recorded ids of sessions, tokens and jobs. */
  readonly #ids = new Map<string, string>();
  readonly #descriptions = new Map<string, Description>();

  constructor(fleet: ReplayFleet) {
    this.#fleet = fleet;
  }

  /** Makes jobs that exchanges ask for, under their recorded ids. */
  async prepare(jobs: readonly (readonly [recordedId: string, tgt: string, fun: string, argument: string])[]) {
    const id = await this.#fleet.login("admin");
    const headers = { "X-Auth-Token": id, "Content-Type": "application/json" };
    for (const [recordedId, tgt, fun, argument] of jobs) {
      const body = JSON.stringify({ client: "local_async", tgt, fun, arg: [argument] });
      const found = bodyOf(await this.#fleet.ask("main", { method: "POST", path: "/", headers, body }));
      const [{ jid }] = (found as { return: [{ jid: string }] }).return;
      this.#ids.set(recordedId, jid);
      await this.#settle(body, found);
    }
  }

  async run(file: string, exchange: Exchange): Promise<Compared> {
    const { name, request, response } = exchange;
    const user = file === "permissions" ? (name.split("_")[0] ?? "") : "admin";
    if (name === "expired_runner") await this.#untilExpired(request.headers["X-Auth-Token"] ?? "");
    const body = bodyText(name, request.body);
    const sent = [request.path, ...Object.values(request.headers), body ?? ""].join("\n");
    for (const [id] of sent.matchAll(sessionForm))
      if (!this.#ids.has(id)) this.#ids.set(id, await this.#fleet.login(user));
    const own = (text: string) => text.replaceAll(idForm, (id) => this.#ids.get(id) ?? id);
    const answer = await this.#fleet.ask(siteOf(name), {
      method: request.method,
      path: own(request.path),
      headers: Object.fromEntries(Object.entries(request.headers).map(([key, value]) => [key, own(value)])),
      body: body === undefined ? undefined : own(body),
    });
    const found = bodyOf(answer);
    this.#learn(response.body, found);
    await this.#settle(body ?? "", found);
    const compared = compare(exchange, answer, found, this.#fleet.bed.folder);
    const undescribed = await this.#undescribed(exchange, answer);
    return undescribed.length === 0 ? compared : { ...compared, status: 0, differences: undescribed };
  }

  /** What an answer has that the API's own OpenAPI document does not say. */
  async #undescribed({ name, request: { method, path } }: Exchange, answer: Answer): Promise<readonly string[]> {
    const site = siteOf(name);
    let description = this.#descriptions.get(site);
    if (description === undefined) {
      const { text } = await this.#fleet.ask(site, { method: "GET", path: "/openapi.json" });
      description = new Description(JSON.parse(Buffer.from(text, "latin1").toString()) as ApiDocument);
      this.#descriptions.set(site, description);
    }
    const { status, headers, text } = answer;
    const body = Buffer.from(text, "latin1").toString();
    return description.faultsOf({ method, path, status, type: headers["content-type"], headers, body });
  }

  async #untilExpired(recordedId: string): Promise<void> {
    const headers = { "X-Auth-Token": this.#ids.get(recordedId) ?? "" };
    const ask = async () => await this.#fleet.ask("main", { method: "GET", path: "/stats", headers });
    while ((await ask()).status === 200) await turn();
  }

  /** Remembers ids that stand at the same place in both answers. */
  #learn(recorded: unknown, found: unknown): void {
    if (typeof recorded === "string" && typeof found === "string") {
      if (new RegExp(`^(?:${idForm.source})$`).test(recorded)) this.#ids.set(recorded, found);
      return;
    }
    if (typeof recorded !== "object" || recorded === null || typeof found !== "object" || found === null) return;
    for (const [key, value] of Object.entries(recorded)) this.#learn(value, (found as Record<string, unknown>)[key]);
  }

  /** The status for a user who sends what another user sent in an exchange. */
  async statusFor(sessionId: string, { request }: Exchange): Promise<number> {
    const body = JSON.stringify(request.body).replaceAll(idForm, (id) => this.#ids.get(id) ?? id);
    const headers = { "X-Auth-Token": sessionId, "Content-Type": "application/json" };
    return (await this.#fleet.ask("main", { method: "POST", path: "/", headers, body })).status;
  }

  /** Waits for the end of what a request has started: later exchanges were recorded after it. */
  async #settle(body: string, found: unknown): Promise<void> {
    const items = (found as { return?: unknown } | null)?.return;
    if (!Array.isArray(items) || body.includes("test.sleep") || this.#fleet.isFrozen) return;
    for (const { jid, minions, tag } of items.filter((item) => typeof item === "object" && item !== null)) {
      if (typeof jid !== "string" || (minions === undefined && tag?.startsWith("salt/run") !== true)) continue;
      const ends = Array.isArray(minions) ? minions.map((id) => `salt/job/${jid}/ret/${id}`) : [`${tag}/ret`];
      for (const end of ends) await this.#fleet.events.until(end, (event) => event.tag === end, jobTimeoutMs);
    }
  }
}

/** The settings with which an exchange was recorded. */
export function siteOf(name: string): string {
  if (name.startsWith("nosess_")) return "nosess";
  return name.startsWith("acl_") || name.startsWith("down_") ? "acl" : "main";
}

function bodyText(name: string, body: unknown): string | undefined {
  if (body === null || body === undefined) return undefined;
  if (name === "post_big") {
    const pad = "x".repeat(1_100_000);
    return JSON.stringify([{ client: "local", tgt: "m1", fun: "test.ping", pad }]);
  }
  const text = typeof body === "string" ? body : JSON.stringify(body);
  // Both minions' answers and silence are the same with any timeout, and short ones depend on the machine.
  if (name === "frozen_local_timeout1") return text.replaceAll(/timeout":1/g, 'timeout":5');
  // Any sleep over the timeout shows the same.
  if (name === "local_timeout_long") return text.replace("[8]", "[3]").replace('"timeout":2', '"timeout":1');
  if (name.startsWith("login_demo")) return text.replace('"demo"', '"file"');
  // Only one user may ask for a short token.
  if (name === "short_login") return text.replace('"admin"', '"shorty"').replace("admin-pw", "shorty-pw");
  return text;
}

function bodyOf({ headers, text }: Answer): unknown {
  const type = headers["content-type"] ?? "";
  if (text === "") return "";
  if (type.startsWith("application/json")) return JSON.parse(Buffer.from(text, "latin1").toString()) as unknown;
  if (type.startsWith("application/x-yaml")) return parse(text) as unknown;
  if (type.startsWith("text/html")) return { _html_document: { title: /<title>(.*?)<\/title>/.exec(text)?.[1] } };
  if (type === "application/x-tar" && /^minion\.pub\0[\s\S]*\0minion\.pem\0[\s\S]*PRIVATE KEY/.test(text))
    return "<tar archive: minion.pub then minion.pem, both PEM>";
  return text;
}

function compare(exchange: Exchange, answer: Answer, whole: unknown, folder: string): Compared {
  const { expected, rules } = withRules(exchange, answer);
  const differences: string[] = [];
  if (isErrorBody(whole) && typeof whole.code !== "string") differences.push("the error has no code");
  const found = withoutCode(whole);
  const note = (what: string, recorded: unknown, now: unknown) => {
    if (recorded !== now) differences.push(`${what}: ${String(recorded)} became ${String(now)}`);
  };
  note("status", expected.status, answer.status);
  // Of a browser's exchanges the recording has only the type.
  const isBrowsers = expected.reason === undefined;
  if (!isBrowsers) note("reason", expected.reason, answer.reason);
  for (const name of isBrowsers ? ["content-type"] : readHeaders)
    note(name, expected.headers[name], headerForm(name, answer.headers[name]));
  if (exchange.request.headers.Origin !== undefined)
    note(originHeader, expected.headers[originHeader], answer.headers[originHeader]);
  const [recordedBody, foundBody] = comparableBodies(exchange.name, expected, found, folder);
  differences.push(...differencesOf(recordedBody, foundBody).map((text) => `body${text}`));
  return { status: answer.status, body: found, differences, rules };
}

function comparableBodies(name: string, expected: Expected, found: unknown, folder: string): readonly unknown[] {
  const isYaml = expected.headers["content-type"] === "application/x-yaml" && typeof expected.body === "string";
  const bodies = [isYaml ? parse(String(expected.body)) : expected.body, found] as unknown[];
  return bodies.map((body) => {
    let text = (JSON.stringify(body) ?? "null").replaceAll('"shorty"', '"admin"').replaceAll(folder, "/srv/demo");
    // The made-up backend's users have the same grants by name.
    if (name.startsWith("login_demo")) text = text.replace('"demo"', '"file"');
    // A subset's minions are chosen at random.
    if (name.startsWith("local_subset")) text = text.replaceAll(/"m\d"/g, '"<minion>"');
    return JSON.parse(text) as unknown;
  });
}
