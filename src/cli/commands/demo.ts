/** `saltworks demo`: a master and some minions in a private directory, three jobs shown as an operator would see them, and what to try next. */

import { join, relative } from "node:path";
import { parseArgs, stripVTControlCharacters } from "node:util";
import { KeyAdmin } from "../../client/key-admin.ts";
import { packageRoot } from "../../config/program-version.ts";
import type { MasterConfig } from "../../config/schema.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { demoMinionsMax, demoStartTimeoutMs } from "../../limits.ts";
import { EventSubscriber } from "../../transport/event-stream-client.ts";
import { splitEvent } from "../../wire/event.ts";
import { Exit, masterConfig } from "../command-line.ts";
import { Children } from "../demo/children.ts";
import { createSite, type DemoSite } from "../demo/site.ts";
import type { Host } from "../host.ts";
import { runKey } from "./key.ts";
import { runSalt } from "./salt.ts";

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
const defaultMinionCount = 5;
const masterName = "master";
/** How long to wait before looking again for what has no event: sockets and key files of starting processes. */
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
  /** Settled by Ctrl-C (with 0) or a process that died (with an error). */
  readonly #ended: Promise<number>;
  #end: (outcome: number | Error) => void = () => undefined;
  #ignoreInterrupt: () => void;
  #isUp = false;

  constructor(site: DemoSite, host: Host) {
    this.#site = site;
    this.#host = host;
    this.#ended = new Promise((resolve, reject) => {
      this.#end = (outcome) => (typeof outcome === "number" ? resolve(outcome) : reject(outcome));
    });
    // Whoever waits for something else at that time learns of it there.
    this.#ended.catch(() => undefined);
    this.#ignoreInterrupt = host.onInterrupt(() => this.#end(0), ["SIGINT", "SIGTERM", "SIGHUP"]);
    this.#children.onDeath((name, said) => this.#onDeath(name, said));
  }

  async run(isExiting: boolean): Promise<number> {
    const outcome = await Promise.race([this.#ended, this.#show(isExiting)]);
    if (isExiting || outcome !== 0) return outcome;
    return await this.#ended;
  }

  /** Once everything runs, a minion that is stopped is something to try. */
  #onDeath(name: string, said: string): void {
    if (!this.#isUp || name === masterName) this.#end(died(name, said));
    else this.#host.complain(`\n${name} ended; the master and the other minions go on.\n`);
  }

  async stop(): Promise<void> {
    this.#ignoreInterrupt();
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
    if (code === 0 && !isExiting) this.#suggest();
    return code;
  }

  /** The minions count as there once each has told the master that it is up, which it does after it can hear publishes. */
  async #acceptKeys(config: MasterConfig): Promise<void> {
    const missing = new Set(this.#site.minions.map(({ id }) => `salt/minion/${id}/start`));
    let settle: () => void = () => undefined;
    const allStarted = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const follower = await whenThere("the master's event bus", () => this.#follow(config, missing, settle));
    const admin = new KeyAdmin(config);
    await whenThere("the minions' keys", () => {
      const { length } = admin.list(["pending"]).get("pending") ?? [];
      return Promise.resolve(length >= this.#site.minions.length ? true : undefined);
    });
    await this.#command("key", ["-A", "-y"]);
    const timer = setTimeout(() => this.#end(late("the start of the minions")), demoStartTimeoutMs);
    await allStarted;
    clearTimeout(timer);
    follower.close();
  }

  async #follow(config: MasterConfig, missing: Set<string>, settle: () => void): Promise<EventSubscriber | undefined> {
    try {
      return await EventSubscriber.connect(join(config.sock_dir, "master_event_pub.ipc"), {
        onEvent: (body) => {
          missing.delete(splitEvent(body).tag);
          if (missing.size === 0) settle();
        },
        onClose: () => undefined,
      });
    } catch (error) {
      if (hasCode(error, "MASTER_UNREACHABLE")) return undefined;
      throw error;
    }
  }

  /** Salt's command ends with 0 for some failures, such as a user without permission: whether each minion has answered is seen in what it shows. */
  async #job(...words: readonly string[]): Promise<number> {
    let shown = "";
    const write = (text: string): void => {
      shown += text;
      this.#host.write(text);
    };
    const code = await this.#command("salt", ["*", ...words], { ...this.#host, write });
    const text = stripVTControlCharacters(shown);
    const silent = this.#site.minions.filter(({ id }) => !answered(text, id)).map(({ id }) => id);
    if (code !== 0 || silent.length === 0) return code;
    this.#host.complain(`saltworks demo: ${words[0]} had no answer of ${silent.join(", ")}\n`);
    return failedJobExitCode;
  }

  /** Runs one command of this program and shows the line that does the same. */
  async #command(name: "salt" | "key", args: readonly string[], host = this.#host): Promise<number> {
    const argv = ["-c", this.#site.masterConfigDir, ...args];
    this.#host.write(`\n$ ${[programName(), name, ...argv].map(quoted).join(" ")}\n`);
    return name === "salt" ? await runSalt(argv, host) : await runKey(argv, host);
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

/** @throws SaltworksError FUNCTION_FAILED if it does not come in time */
async function whenThere<Thing>(what: string, look: () => Promise<Thing | undefined>): Promise<Thing> {
  const deadlineMs = performance.now() + demoStartTimeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadlineMs) throw late(what);
    await new Promise((resolve) => setTimeout(resolve, lookIntervalMs));
  }
}

function late(what: string): SaltworksError {
  return new SaltworksError("MASTER_UNREACHABLE", `the demo waited ${demoStartTimeoutMs / 1_000} s for ${what}`);
}

function died(name: string, said: string): SaltworksError {
  return new SaltworksError("FUNCTION_FAILED", `${name} ended by itself${said === "" ? "" : `: ${said}`}`, { name });
}

/** Whether the outputter shows a value of this minion, and not why there is none. */
function answered(shown: string, id: string): boolean {
  const lines = shown.split("\n");
  const at = lines.indexOf(`${id}:`);
  return at >= 0 && !/Minion did not return|Minion was not/.test(lines[at + 1] ?? "");
}

/** As it can be typed from here. */
function programName(): string {
  const path = join(packageRoot(), "bin", "saltworks");
  const short = relative(process.cwd(), path);
  return short.startsWith("..") ? path : short;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
