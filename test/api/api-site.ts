/** An API before a made-up master, for tests: no minions, no real store. */

import { pino } from "pino";
import { type RunningApi, startApi } from "../../src/api/main.ts";
import type { MasterConfig } from "../../src/config/load.ts";
import type { ConfigMap } from "../../src/config/yaml/values.ts";
import { Float } from "../../src/wire/values.ts";
import { type ApiHandlers, FakeMaster } from "../client/fake-master.ts";

const silentLog = pino({ level: "silent" });

export class ApiSite {
  readonly master: FakeMaster;
  readonly #config: MasterConfig;
  #running: RunningApi;

  private constructor(master: FakeMaster, config: MasterConfig, running: RunningApi) {
    this.master = master;
    this.#config = config;
    this.#running = running;
  }

  static async start(
    handlers: ApiHandlers,
    block: ConfigMap = {},
    options: Partial<MasterConfig> = {},
  ): Promise<ApiSite> {
    const master = await FakeMaster.start({ mk_token: makeToken, ...handlers });
    const rest = { port: 0, host: "127.0.0.1", disable_ssl: true, ...block };
    const acl = { auto: { ann: ["test.*", "@jobs", { "G@role:web": ["state.apply"] }], "*": ["grains.items"] } };
    const config = { ...master.config, external_auth: acl, ...options, rest_cherrypy: rest } as MasterConfig;
    return new ApiSite(master, config, await startApi(config, silentLog));
  }

  get api() {
    return this.#running.api;
  }

  get port(): number {
    return this.#running.port;
  }

  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.port}${path}`, init);
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
    this.#running = await startApi(this.#config, silentLog);
  }

  async close(): Promise<void> {
    await this.#running.stop();
    await this.master.stop();
  }
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
