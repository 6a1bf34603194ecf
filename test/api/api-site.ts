/** An API before a made-up master, for tests: no minions, no real store. Every answer is compared with the API's own OpenAPI document. */
import assert from "node:assert/strict";
import { type Logger, pino } from "pino";
import { type ApiTimes, apiTimes } from "../../src/api/admission/times.ts";
import { type RunningApi, startApi } from "../../src/api/main.ts";
import { buildServer } from "../../src/api/server.ts";
import type { Api } from "../../src/api/sessions/context.ts";
import type { MasterConfig } from "../../src/config/load.ts";
import type { ConfigMap } from "../../src/config/yaml/values.ts";
import { Float } from "../../src/wire/values.ts";
import { type ApiHandlers, FakeMaster } from "../client/fake-master.ts";
import { type ApiDocument, Description } from "./described.ts";

/** By settings: tests have few different ones. */
const descriptions = new Map<string, Promise<Description>>();

export class ApiSite {
  readonly master: FakeMaster;
  /** What the API logged, from `info` on. */
  readonly logged: string[];
  readonly #config: MasterConfig;
  readonly #faults: string[] = [];
  #running: RunningApi;

  private constructor(master: FakeMaster, config: MasterConfig, logged: string[], running: RunningApi) {
    this.master = master;
    this.logged = logged;
    this.#config = config;
    this.#running = running;
  }

  static async start(
    handlers: ApiHandlers,
    block: ConfigMap = {},
    options: Partial<MasterConfig> = {},
    times: Partial<ApiTimes> = {},
  ): Promise<ApiSite> {
    const master = await FakeMaster.start({ mk_token: makeToken, ...handlers });
    const rest = { port: 0, host: "127.0.0.1", disable_ssl: true, ...block };
    const acl = { auto: { ann: ["test.*", "@jobs", { "G@role:web": ["state.apply"] }], "*": ["grains.items"] } };
    const config = { ...master.config, external_auth: acl, ...options, rest_cherrypy: rest } as MasterConfig;
    const logged: string[] = [];
    return new ApiSite(master, config, logged, await startApi(config, logInto(logged), { ...apiTimes, ...times }));
  }

  get api() {
    return this.#running.api;
  }

  get port(): number {
    return this.#running.port;
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const answer = await fetch(`http://127.0.0.1:${this.port}${path}`, init);
    const type = answer.headers.get("content-type") ?? undefined;
    const headers = Object.fromEntries(answer.headers);
    const seen = { method: init.method ?? "GET", path, status: answer.status, type, headers };
    const description = await this.description();
    const check = (body: string | undefined) => void this.#faults.push(...description.faultsOf({ ...seen, body }));
    // A stream may end only with the test.
    if (type?.startsWith("text/event-stream") || type?.startsWith("application/x-ndjson")) check(undefined);
    else check(await answer.clone().text());
    return answer;
  }

  /** The document of an API with these settings. */
  async description(): Promise<Description> {
    const key = JSON.stringify([this.api.settings, this.api.oidc?.loginUrl, this.api.oidc?.logoutUrl]);
    const made = descriptions.get(key) ?? describe(this.api);
    descriptions.set(key, made);
    return await made;
  }

  /** Asks with a session's id. */
  async get(path: string, id: string): Promise<{ readonly status: number; readonly body: unknown }> {
    const answer = await this.fetch(path, { headers: { "X-Auth-Token": id } });
    return { status: answer.status, body: await answer.json() };
  }

  /** @returns the session id of a login as `username` */
  async login(username = "ann"): Promise<string> {
    const body = JSON.stringify({ username, password: "right", eauth: "auto" });
    const answer = await this.fetch("/login", { method: "POST", body });
    return answer.headers.get("x-auth-token") ?? "";
  }

  /** Ends the API process's parts and starts them again on another port. */
  async restartApi(): Promise<void> {
    await this.#running.stop();
    this.#running = await startApi(this.#config, logInto(this.logged));
  }

  async close(): Promise<void> {
    await this.#running.stop();
    await this.master.stop();
    assert.deepEqual(this.#faults, [], "answers that the OpenAPI document does not describe");
  }
}

async function describe(api: Api): Promise<Description> {
  const app = buildServer(api);
  await app.ready();
  const document = JSON.parse(JSON.stringify(app.swagger())) as ApiDocument;
  await app.close();
  return new Description(document);
}

function logInto(lines: string[]): Logger {
  return pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
}

/** A token for every user with the password `right`. */
const makeToken: ApiHandlers[string] = (load) => {
  if (load.get("password") !== "right") return "";
  const start = 1_795_000_000.5;
  const life = Number(load.get("token_expire") ?? 1_000_000_000);
  return {
    start,
    expire: new Float(start + 0.5 + life),
    name: String(load.get("username")),
    eauth: "auto",
    token: "f".repeat(64),
  };
};
