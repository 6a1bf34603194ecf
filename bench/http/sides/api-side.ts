/** A master with its HTTP API, a fleet and a session, ours or Salt's, for measurements in turns. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { SaltworksError } from "../../../src/errors.ts";
import { cpuTimeMs } from "../../cpu-time.ts";
import { type Fleet, openFleet } from "../../fleet/fleet.ts";
import { freePorts } from "../../free-ports.ts";
import { untilCpuRests } from "../../scenarios/measures/usage.ts";
import type { MasterUnderTest } from "../../scenarios/setup/master-contract.ts";
import { type MasterChoice, masterConfigOf, startMaster } from "../../scenarios/setup/master-under-test.ts";

export type ApiSideOptions = {
  readonly master: MasterChoice;
  /** Of simulated minions; 0: no fleet. */
  readonly minionCount: number;
  /** Of the master besides what the API needs. */
  readonly config?: Readonly<Record<string, unknown>>;
};

const upTimeoutMs = 120_000;
const loginTimeoutMs = 60_000;
const loginPollMs = 250;
const logBytesQuoted = 2_000;

/** What a master needs for the API of the bench's one user, who may do everything. */
export function apiConfig(port: number): Readonly<Record<string, unknown>> {
  return {
    external_auth: { auto: { bench: [".*", "@wheel", "@runner", "@jobs"] } },
    netapi_enable_clients: ["local", "local_async", "runner", "wheel"],
    rest_cherrypy: { port, host: "127.0.0.1", disable_ssl: true },
  };
}

/** Logs in as the bench's user when the API answers. @throws SaltworksError MASTER_UNREACHABLE; what an aborted signal throws */
export async function login(url: string, signal?: AbortSignal): Promise<string> {
  const body = JSON.stringify({ username: "bench", password: "any", eauth: "auto" });
  const headers = { "content-type": "application/json", accept: "application/json" };
  const endMs = performance.now() + loginTimeoutMs;
  while (performance.now() < endMs) {
    const request = { method: "POST", headers, body, ...(signal === undefined ? {} : { signal }) };
    const answer = await fetch(`${url}/login`, request).catch(() => undefined);
    signal?.throwIfAborted();
    const id = answer?.headers.get("x-auth-token");
    if (id) return id;
    await wait(loginPollMs, undefined, { signal });
  }
  throw new SaltworksError("MASTER_UNREACHABLE", `no login at ${url} within ${loginTimeoutMs} ms`);
}

/** Salt's API is a program of its own, in a process group of its own. */
class SaltApi {
  readonly #child: ChildProcess;
  readonly #logFile: string;
  readonly #onExit = (): void => this.#kill();

  constructor(venv: string, configDirectory: string) {
    const program = join(venv, "bin", "salt-api");
    if (!existsSync(program)) throw new SaltworksError("USAGE", `no salt-api in ${venv}`);
    this.#logFile = join(configDirectory, "api-output");
    const log = openSync(this.#logFile, "a");
    const args = ["-c", configDirectory, "-l", "warning"];
    this.#child = spawn(program, args, { stdio: ["ignore", log, log], detached: true });
    closeSync(log);
    process.once("exit", this.#onExit);
  }

  get cpuMs(): number {
    return this.#child.pid === undefined ? 0 : cpuTimeMs(this.#child.pid);
  }

  logTail(): string {
    return readFileSync(this.#logFile, "utf8").slice(-logBytesQuoted);
  }

  async close(): Promise<void> {
    process.off("exit", this.#onExit);
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#kill();
    await ended;
  }

  #kill(): void {
    try {
      process.kill(-(this.#child.pid ?? 0), "SIGKILL");
    } catch (error) {
      // The process group has ended already.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

export class ApiSide {
  readonly name: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly master: MasterUnderTest;
  readonly #fleet: Fleet | undefined;
  readonly #saltApi: SaltApi | undefined;

  private constructor(url: string, id: string, parts: { master: MasterUnderTest; fleet?: Fleet; saltApi?: SaltApi }) {
    const { master, fleet, saltApi } = parts;
    this.name = `${master.kind} ${master.version}`;
    this.url = url;
    this.headers = { "x-auth-token": id };
    this.master = master;
    this.#fleet = fleet;
    this.#saltApi = saltApi;
  }

  /** Resolves when the fleet is up and the API has answered a login. */
  static async open({ master: choice, minionCount, config = {} }: ApiSideOptions): Promise<ApiSide> {
    const [port = 0] = await freePorts(1);
    const master = await startMaster(choice, masterConfigOf(choice, { ...apiConfig(port), ...config }));
    let saltApi: SaltApi | undefined;
    let fleet: Fleet | undefined;
    try {
      const { configDirectory } = master;
      if (choice.kind === "salt" && choice.salt !== undefined && configDirectory !== undefined)
        saltApi = new SaltApi(choice.salt, configDirectory);
      if (minionCount > 0) {
        fleet = await openFleet({ masterHost: "127.0.0.1", requestPort: master.requestPort, minionCount });
        await fleet.untilUp(upTimeoutMs);
      }
      const url = `http://127.0.0.1:${port}`;
      const parts = { master, ...(fleet ? { fleet } : {}), ...(saltApi ? { saltApi } : {}) };
      return new ApiSide(url, await login(url), parts);
    } catch (error) {
      const log = saltApi?.logTail() ?? "";
      await Promise.all([fleet?.close(), saltApi?.close()]);
      await master.remove();
      throw log === "" ? error : new Error(`salt-api: ${log}`, { cause: error });
    }
  }

  /** CPU time of master, API and all their children since their start, milliseconds. */
  get cpuMs(): number {
    return cpuTimeMs(this.master.processId) + (this.#saltApi?.cpuMs ?? 0);
  }

  /** Runs `work`. @returns its result, and the CPU time until master and API rest again */
  async measured<Result>(work: () => Promise<Result>): Promise<{ readonly result: Result; readonly cpuMs: number }> {
    const { signal } = new AbortController();
    await untilCpuRests(() => this.cpuMs, signal);
    const before = this.cpuMs;
    const result = await work();
    await untilCpuRests(() => this.cpuMs, signal);
    return { result, cpuMs: this.cpuMs - before };
  }

  async close(): Promise<void> {
    await this.#saltApi?.close();
    await this.#fleet?.close();
    await this.master.remove();
  }
}
