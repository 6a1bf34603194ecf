/** A master as a program of its own in a private directory on free ports: ours or real Salt's. It can be killed and started again. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { withoutNodeVariables } from "../src/cli/daemon/node-environment.ts";
import { ownUserName } from "../src/config/host/user.ts";
import { hasCode, SaltworksError } from "../src/errors.ts";
import { type DescriptorNeed, withDescriptors } from "./fleet/descriptors.ts";
import { freePorts } from "./free-ports.ts";
import { LocalClient } from "./local-client.ts";

export type MasterOptions = {
  /** The program and its first arguments; `-c DIR` is added. */
  readonly command: readonly string[];
  /** Master configuration besides directories, ports and user. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Limit of the program's descriptors. */
  readonly descriptors: DescriptorNeed;
  readonly env?: Readonly<Record<string, string>>;
  /** Where it listens, if its command runs it in another network namespace. Default: `ownMasterHost`. */
  readonly host?: string;
  /** Aborts a start. Once it is aborted, `remove` ends the master with KILL. */
  readonly signal?: AbortSignal;
};

/** Where a master that the bench starts listens. */
export const ownMasterHost = "127.0.0.1";

/** Timeout of a start, for slow machines. */
const startDeadlineMs = 60_000;
const startPollMs = 100;
const stopDeadlineMs = 20_000;
/** Tries of removing a directory, a tenth of a second and more apart. */
const removeTriesMax = 10;
/** Log lines that an error message quotes. */
const logLinesQuoted = 30;

export class MasterProcess {
  readonly directory: string;
  readonly requestPort: number;
  readonly publishPort: number;
  readonly #options: MasterOptions;
  #child: ChildProcess | undefined;
  #hasEnded: Promise<void> = Promise.resolve();
  /**
   * Ends the master with this process, also after an uncaught error, because a master in its own process group would go on. Removes its
   * directory, because nothing else would.
   */
  readonly #onExit = (): void => {
    if (this.#isRunning()) this.#signalGroup("SIGKILL");
    rmSync(this.directory, { recursive: true, force: true, maxRetries: removeTriesMax });
  };

  private constructor(options: MasterOptions, [requestPort, publishPort]: readonly [number, number]) {
    this.#options = options;
    this.directory = mkdtempSync(join(tmpdir(), "sw-"));
    process.once("exit", this.#onExit);
    this.requestPort = requestPort;
    this.publishPort = publishPort;
    mkdirSync(this.configDirectory);
    const base = {
      interface: options.host ?? ownMasterHost,
      ret_port: requestPort,
      publish_port: publishPort,
      user: ownUserName(),
      // Both masters put paths that lie elsewhere below `root_dir`.
      root_dir: this.directory,
      pki_dir: join(this.directory, "pki"),
      cachedir: this.cacheDirectory,
      sock_dir: this.socketDirectory,
      log_file: join(this.directory, "log-file"),
      // Otherwise a token in the user's home directory would log in commands that use this configuration.
      token_file: join(this.directory, "salt_token"),
    };
    // JSON is YAML.
    writeFileSync(join(this.configDirectory, "master"), JSON.stringify({ ...base, ...options.config }, undefined, 1));
  }

  /** Resolves when the master answers requests. */
  static async start(options: MasterOptions): Promise<MasterProcess> {
    const [requestPort, publishPort] = await freePorts(2);
    if (requestPort === undefined || publishPort === undefined) throw new RangeError("no ports");
    const master = new MasterProcess(options, [requestPort, publishPort]);
    try {
      await master.restart();
      return master;
    } catch (error) {
      await master.remove();
      throw error;
    }
  }

  get configDirectory(): string {
    return join(this.directory, "conf");
  }

  /** The path in `config`, or a path below `directory`. */
  get cacheDirectory(): string {
    const { cachedir } = this.#options.config;
    return typeof cachedir === "string" ? cachedir : join(this.directory, "cache");
  }

  get socketDirectory(): string {
    return join(this.directory, "sock");
  }

  get pkiDirectory(): string {
    return join(this.directory, "pki");
  }

  get processId(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new SaltworksError("MASTER_UNREACHABLE", "the master does not run");
    return pid;
  }

  /** Starts the program again in the same directories; resolves when it answers requests. */
  async restart(): Promise<void> {
    const command = [...this.#options.command, "-c", this.configDirectory];
    const { file, args } = withDescriptors(this.#options.descriptors, command);
    const log = openSync(join(this.directory, "output"), "a");
    const env = { ...withoutNodeVariables(process.env), ...this.#options.env };
    // Before the master is there: a signal between the two would end this process alone.
    endOnSignals();
    // A process group of its own, because Salt's master has many processes, and all must end with it.
    const child = spawn(file, args, { stdio: ["ignore", log, log], detached: true, env });
    closeSync(log);
    this.#child = child;
    this.#hasEnded = new Promise((resolve) => child.once("exit", () => resolve()));
    await this.#untilAnswering(child);
  }

  async #untilAnswering(child: ChildProcess): Promise<void> {
    const { signal } = this.#options;
    const client = this.client();
    // A ping waits up to a second. Closing its channel ends the wait.
    const onAbort = (): void => client.close();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const startedMs = performance.now();
      while (performance.now() - startedMs < startDeadlineMs) {
        signal?.throwIfAborted();
        if (child.exitCode !== null || child.signalCode !== null) break;
        try {
          await client.ping();
          return;
        } catch (error) {
          signal?.throwIfAborted();
          if (!hasCode(error, "REQUEST_TIMEOUT")) throw error;
          await wait(startPollMs);
        }
      }
    } finally {
      signal?.removeEventListener("abort", onAbort);
      client.close();
    }
    throw new SaltworksError("MASTER_UNREACHABLE", `the master did not come up:\n${this.logTail()}`);
  }

  client(): LocalClient {
    const { host = ownMasterHost } = this.#options;
    return new LocalClient({ requestPort: this.requestPort, cacheDirectory: this.cacheDirectory, host });
  }

  logTail(): string {
    const lines = readFileSync(join(this.directory, "output"), "utf8").split("\n");
    return lines.slice(-logLinesQuoted).join("\n");
  }

  /** Sends TERM, and KILL if the master does not end in time. @returns the exit code, null after KILL */
  async stop(): Promise<number | null> {
    const child = this.#child;
    if (child === undefined) return null;
    child.kill("SIGTERM");
    const timer = setTimeout(() => this.#signalGroup("SIGKILL"), stopDeadlineMs);
    await this.#hasEnded;
    clearTimeout(timer);
    this.#signalGroup("SIGKILL");
    return child.exitCode;
  }

  /** Resolves with the exit code when the master has ended by itself; null after a signal. */
  async ended(): Promise<number | null> {
    await this.#hasEnded;
    return this.#child?.exitCode ?? null;
  }

  /** Sends KILL. */
  async kill(): Promise<void> {
    this.#signalGroup("SIGKILL");
    await this.#hasEnded;
  }

  /** Ends the master if it runs, and removes its directories. After an abort it does not wait for an orderly stop. */
  async remove(): Promise<void> {
    if (this.#options.signal?.aborted === true) await this.kill();
    else await this.stop();
    process.off("exit", this.#onExit);
    await this.#removeDirectory();
  }

  #isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Not in one go: with thousands of minions it takes seconds, in which the agents of other hosts would hear nothing. */
  async #removeDirectory(): Promise<void> {
    // Tries again, because threads of a killed master may still write files for a moment.
    await rm(this.directory, { recursive: true, force: true, maxRetries: removeTriesMax });
  }

  #signalGroup(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch (error) {
      // The process group has ended already.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/** A signal ends this process by "exit", whose listeners end its masters, unless the program has its own listener. */
function endOnSignals(): void {
  for (const [signal, exitCode] of [
    ["SIGTERM", 143],
    ["SIGINT", 130],
    ["SIGHUP", 129],
  ] as const) {
    if (process.listenerCount(signal) === 0) process.on(signal, () => process.exit(exitCode));
  }
}
