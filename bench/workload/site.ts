/** What a master of the bench's own needs for a workload: files that minions fetch, and an HTTP API. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SaltworksError } from "../../src/errors.ts";
import { freePorts } from "../free-ports.ts";
import { apiConfig, login } from "../http/sides/api-side.ts";
import type { MasterUnderTest } from "../scenarios/setup/master-contract.ts";
import type { ApiSession } from "./api-calls.ts";
import type { FileOperation, Workload } from "./schema.ts";

/** The session of a master that runs already: what its `/login` gave. */
const tokenVariable = "SALTWORKS_BENCH_TOKEN";

export class WorkloadSite {
  readonly #workload: Workload;
  /** Made when files are needed. */
  #directory: string | undefined;
  #apiPort = 0;

  constructor(workload: Workload) {
    this.#workload = workload;
  }

  /** Once for all masters of the run. The files are removed when the process ends. */
  async prepare(): Promise<void> {
    const files = this.#files();
    if (files.length > 0 && this.#directory === undefined) {
      const directory = mkdtempSync(join(tmpdir(), "saltworks-bench-workload-"));
      this.#directory = directory;
      process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
      for (const file of files) writeFileSync(join(directory, nameOf(file)), "x".repeat(file.bytes));
    }
    if (this.#hasApi) [this.#apiPort = 0] = await freePorts(1);
  }

  masterConfig(): Record<string, unknown> {
    return {
      ...(this.#directory !== undefined && { file_roots: { base: [this.#directory] } }),
      ...(this.#hasApi && apiConfig(this.#apiPort)),
    };
  }

  /** @throws SaltworksError USAGE naming the operation that this master cannot get */
  demand(master: MasterUnderTest): void {
    const isRunning = master.reach !== undefined;
    const refuse = (kind: string, fault: string) => new SaltworksError("USAGE", `operation '${kind}': ${fault}`);
    for (const { kind, name } of this.#workload.operations) {
      if (kind === "job" && master.reach?.publishes === false) {
        throw refuse(name, "to publish jobs, the bench needs the master's configuration (-c DIR)");
      }
      if (kind === "api" && isRunning && (this.#workload.apiUrl === "" || !process.env[tokenVariable])) {
        throw refuse(name, `a master that runs already needs api_url in the file, and a session in ${tokenVariable}`);
      }
      if (kind === "api" && !isRunning && master.kind !== "saltworks") {
        throw refuse(name, `the bench starts an API for its own Saltworks master only, not for ${master.kind}`);
      }
    }
    const unnamed = this.#files()[0];
    if (isRunning && unnamed !== undefined) {
      throw refuse(unnamed.name, "a master that runs already needs the 'path' of a file that it has");
    }
  }

  async session(master: MasterUnderTest, signal: AbortSignal): Promise<ApiSession | undefined> {
    if (!this.#hasApi) return undefined;
    if (master.reach !== undefined) return { url: this.#workload.apiUrl, token: process.env[tokenVariable] ?? "" };
    const url = `http://127.0.0.1:${this.#apiPort}`;
    return { url, token: await login(url, signal) };
  }

  get #hasApi(): boolean {
    return this.#workload.operations.some(({ kind }) => kind === "api");
  }

  #files(): FileOperation[] {
    return this.#workload.operations.flatMap((one) => (one.kind === "file" && one.path === "" ? [one] : []));
  }
}

/** The path by which minions ask for the operation's file. */
export function pathOf(file: FileOperation): string {
  return file.path === "" ? nameOf(file) : file.path;
}

function nameOf({ name }: FileOperation): string {
  return `${encodeURIComponent(name)}.bin`;
}
