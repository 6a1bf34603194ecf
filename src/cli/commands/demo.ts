/** `saltworks demo`: starts a master and minions in a private directory, shows three jobs as an operator sees them, and suggests commands. */

import { join, relative } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { KeyAdmin } from "../../client/key-admin.ts";
import { packageRoot } from "../../config/host/program.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { demoMinionsMax, demoStartTimeoutMs } from "../../limits.ts";
import { EventSubscriber } from "../../transport/event-stream-client.ts";
import { splitEvent } from "../../wire/event.ts";
import { Children } from "../demo/children.ts";
import { createSite, type DemoSite } from "../demo/site.ts";
import { Exit } from "../host/exit.ts";
import type { Host } from "../host/host.ts";
import { masterConfig } from "../start/configuration.ts";
import { runKey } from "./key.ts";
import { runSalt } from "./salt/salt.ts";

const usage = `Usage: saltworks demo [options]

Starts a master and minions in a directory of their own, accepts the minions' keys, runs three jobs
and stays up until Ctrl-C. Nothing is left behind.

Options:
  --minions N  How many minions, 1 to ${demoMinionsMax}. Default: 5.
  --exit       End after the jobs.
  -h, --help   Show this help and exit.
`;
const usageExitCode = 64;
const failedJobExitCode = 1;
/** Exit codes of shells for a program that the signal ended. */
const interruptedExitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const defaultMinionCount = 5;
const masterName = "master";
/** Poll interval for sockets and key files of starting processes: no event reports them. */
const lookIntervalMs = 50;

type DemoOptions = { readonly minionCount: number; readonly isExiting: boolean };

/** @returns the exit code */
export async function runDemo(argv: readonly string[], host: Host): Promise<number> {
  const options = readOptions(argv, host);
  const site = await createSite(options.minionCount);
  const demo = new Demo(site, host);
  try {
    return await demo.run(options.isExiting);
  } finally {
    await demo.stop();
    site.remove();
  }
}

function readOptions(argv: readonly string[], host: Host): DemoOptions {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: { minions: { type: "string" }, exit: { type: "boolean" }, help: { type: "boolean", short: "h" } },
    });
    if (values.help) {
      host.write(usage);
      throw new Exit(0);
    }
    const minionCount = Number(values.minions ?? defaultMinionCount);
    if (!Number.isInteger(minionCount) || minionCount < 1 || minionCount > demoMinionsMax) {
      throw new SaltworksError("USAGE", `--minions takes a number from 1 to ${demoMinionsMax}`);
    }
    return { minionCount, isExiting: values.exit ?? false };
  } catch (error) {
    if (error instanceof Exit || !(error instanceof Error)) throw error;
    host.complain(`${usage}\nsaltworks demo: error: ${error.message}\n`);
    throw new Exit(usageExitCode);
  }
}

class Demo {
  readonly #site: DemoSite;
  readonly #host: Host;
  readonly #children = new Children();
  /** Resolves with the exit code after Ctrl-C. Rejects if a process died. */
  readonly #ended: Promise<number>;
  /** Aborted as soon as `#ended` settles. Waits give up then, and output of running commands is dropped. */
  readonly #over = new AbortController();
  #end: (outcome: number | Error) => void = () => undefined;
  readonly #ignoreInterrupts: readonly (() => void)[];
  #isUp = false;
  /** True after the jobs. From then on Ctrl-C is the normal end of a demo. */
  #isShown = false;

  constructor(site: DemoSite, host: Host) {
    this.#site = site;
    this.#host = host;
    this.#ended = new Promise((resolve, reject) => {
      this.#end = (outcome) => {
        if (typeof outcome === "number") resolve(outcome);
        else reject(outcome);
        this.#over.abort();
      };
    });
    // Prevents an unhandled rejection while `run` does not await `#ended`.
    this.#ended.catch(() => undefined);
    this.#ignoreInterrupts = (["SIGINT", "SIGTERM", "SIGHUP"] as const).map((signal) =>
      host.onInterrupt(() => this.#end(this.#isShown ? 0 : interruptedExitCodes[signal]), [signal]),
    );
    this.#children.onDeath((name, said) => this.#onDeath(name, said));
  }

  async run(isExiting: boolean): Promise<number> {
    const outcome = await Promise.race([this.#ended, this.#untilShown(isExiting)]);
    if (isExiting || outcome !== 0) return outcome;
    return await this.#ended;
  }

  /** Ignores failures of jobs after the end of the demo: `#ended` has its outcome. */
  async #untilShown(isExiting: boolean): Promise<number> {
    try {
      const code = await this.#show(isExiting);
      if (!this.#over.signal.aborted) return code;
    } catch (error) {
      if (!this.#over.signal.aborted) throw error;
    }
    return await this.#ended;
  }

  /** A minion that ends after the jobs does not end the demo, because an operator may try to stop one. */
  #onDeath(name: string, said: string): void {
    if (!this.#isUp || name === masterName) this.#end(died(name, said));
    else this.#host.complain(`\n${name} ended; the master and the other minions go on.\n`);
  }

  async stop(): Promise<void> {
    for (const ignore of this.#ignoreInterrupts) ignore();
    await this.#children.stop();
  }

  async #show(isExiting: boolean): Promise<number> {
    const { folder, masterConfigDir, minions } = this.#site;
    this.#host.write(`Starting a master and ${minions.length} minions in ${folder}\n`);
    this.#children.start(masterName, ["master", "-c", masterConfigDir], join(folder, "master.err"));
    for (const { id, configDir } of minions) {
      this.#children.start(id, ["minion", "-c", configDir], join(folder, `${id}.err`));
    }
    const config = masterConfig(masterConfigDir, this.#host);
    await this.#acceptKeys(config);
    this.#isUp = true;
    let code = 0;
    code ||= await this.#job("test.ping");
    code ||= await this.#job("cmd.run", "uname -sr");
    code ||= await this.#job("grains.item", "os");
    this.#over.signal.throwIfAborted();
    if (code === 0 && !isExiting) this.#suggest();
    this.#isShown = true;
    return code;
  }

  /** Waits until each minion has told the master that it has started, which it does only after it can receive publishes. */
  async #acceptKeys(config: MasterConfig): Promise<void> {
    const missing = new Set(this.#site.minions.map(({ id }) => `salt/minion/${id}/start`));
    const { signal } = this.#over;
    const follower = await whenThere("the master's event bus", () => this.#follow(config, missing), signal);
    try {
      const admin = new KeyAdmin(config);
      const areKeysThere = () => (admin.list(["pending"]).get("pending") ?? []).length >= this.#site.minions.length;
      await whenThere("the minions' keys", async () => areKeysThere() || undefined, signal);
      await this.#command("key", ["-A", "-y"]);
      await whenThere("the start of the minions", async () => missing.size === 0 || undefined, signal);
    } finally {
      follower.close();
    }
  }

  async #follow(config: MasterConfig, missing: Set<string>): Promise<EventSubscriber | undefined> {
    try {
      return await EventSubscriber.connect(join(config.sock_dir, "master_event_pub.ipc"), {
        onEvent: (body) => void missing.delete(splitEvent(body).tag),
        onClose: () => undefined,
      });
    } catch (error) {
      if (hasCode(error, "MASTER_UNREACHABLE")) return undefined;
      throw error;
    }
  }

  /** Looks for each minion in the output, because the command exits with 0 for some failures, such as a user without permission. */
  async #job(...words: readonly string[]): Promise<number> {
    let shown = "";
    const write = (text: string): void => {
      shown += text;
      this.#host.write(text);
    };
    const code = await this.#command("salt", ["*", ...words], { ...this.#host, write });
    this.#over.signal.throwIfAborted();
    const text = stripVTControlCharacters(shown);
    const silent = this.#site.minions.filter(({ id }) => !answered(text, id)).map(({ id }) => id);
    if (code !== 0 || silent.length === 0) return code;
    this.#host.complain(`saltworks demo: ${words[0]} had no answer from ${silent.join(", ")}\n`);
    return failedJobExitCode;
  }

  /** Runs one command of this program after showing its command line. */
  async #command(name: "salt" | "key", args: readonly string[], host = this.#host): Promise<number> {
    const argv = ["-c", this.#site.masterConfigDir, ...args];
    this.#over.signal.throwIfAborted();
    this.#host.write(`\n$ ${[programName(), name, ...argv].map(quoted).join(" ")}\n`);
    // The master ends with the demo, so hints about late returns and errors after the end are dropped.
    const unlessOver = (say: (text: string) => void) => (text: string) => {
      if (!this.#over.signal.aborted) say(text);
    };
    const ofDemo = {
      ...host,
      write: unlessOver(host.write),
      complain: unlessOver(host.complain),
      onInterrupt: (listener: () => void) => this.#whenOver(listener),
    };
    return name === "salt" ? await runSalt(argv, ofDemo) : await runKey(argv, ofDemo);
  }

  /** Interrupts a command when the demo ends, or at once if it has ended. @returns a function that stops listening */
  #whenOver(listener: () => void): () => void {
    const { signal } = this.#over;
    if (signal.aborted) queueMicrotask(listener);
    signal.addEventListener("abort", listener, { once: true });
    return () => signal.removeEventListener("abort", listener);
  }

  #suggest(): void {
    const line = (name: string, ...args: string[]): string =>
      `  ${[programName(), name, "-c", this.#site.masterConfigDir, ...args].map(quoted).join(" ")}\n`;
    this.#host.write("\nThe master and its minions stay up. In another terminal, try:\n\n");
    this.#host.write(line("salt", "web*", "cmd.run", "df -h /"));
    this.#host.write(line("salt", "-G", "role:db", "grains.items"));
    this.#host.write(line("salt", "--out", "json", "-L", "web1.example.com,db1.example.com", "status.uptime"));
    this.#host.write(line("salt", "*", "sys.doc", "test.ping"));
    this.#host.write(line("run", "manage.status"));
    this.#host.write(line("run", "jobs.list_jobs"));
    this.#host.write(line("key", "-L"));
    this.#host.write("\nCtrl-C ends everything and removes the directory.\n");
  }
}

/** @throws SaltworksError MASTER_UNREACHABLE after `demoStartTimeoutMs`, and the signal's reason once it is aborted */
async function whenThere<Thing>(
  what: string,
  look: () => Promise<Thing | undefined>,
  signal: AbortSignal,
): Promise<Thing> {
  const deadlineMs = performance.now() + demoStartTimeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadlineMs) throw late(what);
    await wait(lookIntervalMs, undefined, { signal });
  }
}

function late(what: string): SaltworksError {
  return new SaltworksError("MASTER_UNREACHABLE", `the demo waited ${demoStartTimeoutMs / 1_000} s for ${what}`);
}

function died(name: string, said: string): SaltworksError {
  return new SaltworksError("FUNCTION_FAILED", `${name} ended by itself${said === "" ? "" : `: ${said}`}`, { name });
}

/** Whether the output holds a value of this minion, and not a reason for its silence. */
function answered(shown: string, id: string): boolean {
  const lines = shown.split("\n");
  const at = lines.indexOf(`${id}:`);
  return at >= 0 && !/Minion did not return|Minion was not/.test(lines[at + 1] ?? "");
}

/** The program's path: relative if it lies in the working directory. */
function programName(): string {
  const path = join(packageRoot(), "bin", "saltworks");
  const short = relative(process.cwd(), path);
  return short.startsWith("..") ? path : short;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
