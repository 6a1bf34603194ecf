/** An operator at a master's machine, with Salt's commands or with ours: the same commands, so that the answers can be compared. */
import { dispatch } from "../../src/cli/dispatch.ts";
import { ownUserName } from "../../src/config/host/user.ts";
import { TestHost } from "../cli/test-host.ts";
import { commandTimeoutMs, type Ended, environment, runCommand } from "./program.ts";
import { runFork } from "./salt-forks.ts";
import { type Maker, type MasterUnderTest, makerName, ourProgram } from "./test-bed.ts";

/** Exit codes of Salt's commands and ours for an invalid command line. */
const usageExitCode = 64;

type Tool = "salt" | "key" | "run" | "cp";
/** `isProcess`: the program runs as a new process. Otherwise ours runs in this process, and Salt's in a fork. */
type RunOptions = { stdin?: string; timeoutMs?: number; isProcess?: boolean };

export class Operator {
  readonly maker: Maker;
  readonly #configDir: string;

  constructor(maker: Maker, master: MasterUnderTest) {
    this.maker = maker;
    this.#configDir = master.configDir;
  }

  get name(): string {
    return makerName(this.maker);
  }

  /** One command line: the words after the name of the tool. */
  run(tool: Tool, args: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const words = ["-c", this.#configDir, ...args];
    const name = tool === "salt" ? "salt" : `salt-${tool}`;
    if (options.isProcess !== true)
      return this.maker === "ours" ? runHere([tool, ...words], options) : runFork(this.maker, name, words, options);
    if (this.maker === "ours") return runCommand(process.execPath, [ourProgram, tool, ...words], options);
    return runCommand(this.maker.program(name), words, options);
  }

  /** The parsed output of `--out=json`; undefined without output. */
  async json(tool: Tool, args: readonly string[]): Promise<unknown> {
    const ended = await this.run(tool, ["--out=json", ...args]);
    const text = ended.stdout.toString();
    // No code: it did not end by itself.
    if (ended.code === usageExitCode || ended.code === null)
      throw new Error(`${this.name} ${tool} ${args.join(" ")}: ${text}${ended.stderr}`);
    try {
      return text.trim() === "" ? undefined : JSON.parse(text);
    } catch (error) {
      throw new Error(`${this.name} ${tool} ${args.join(" ")} printed no JSON: ${text}${ended.stderr}`, {
        cause: error,
      });
    }
  }

  /** One job to one minion: its jid, the value shown for the minion, and the exit code. */
  async job(minionId: string, words: readonly string[]): Promise<JobShown> {
    const ended = await this.run("salt", ["--show-jid", "--out=json", minionId, ...words]);
    const text = ended.stdout.toString();
    const jid = /^jid: (\d{20})\n/.exec(text);
    if (jid?.[1] === undefined) throw new Error(`${this.name}: no job: ${text}${ended.stderr}`);
    const shown: unknown = JSON.parse(text.slice(jid[0].length) || "{}");
    const value = (shown as Record<string, unknown>)[minionId];
    return { jid: jid[1], value, code: ended.code, stderr: ended.stderr };
  }

  /** One job to all minions. @returns its jid, once each of `ids` has returned */
  async jobOfAll(ids: readonly string[], words: readonly string[]): Promise<string> {
    const ended = await this.run("salt", ["--show-jid", "--out=json", "*", ...words]);
    const text = ended.stdout.toString();
    const jid = /^jid: (\d{20})\n/.exec(text)?.[1];
    if (jid === undefined || !ids.every((id) => text.includes(`"${id}":`))) throw new Error(text + ended.stderr);
    return jid;
  }
}

/** Runs our command line in this process. */
async function runHere(words: readonly string[], options: RunOptions): Promise<Ended> {
  const host = new TestHost(options.stdin);
  host.user = ownUserName();
  host.directory = process.cwd();
  host.environment = environment() as typeof host.environment;
  const timeoutMs = options.timeoutMs ?? commandTimeoutMs;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${words.join(" ")} did not end within ${timeoutMs} ms`)), timeoutMs);
  });
  const code = await Promise.race([dispatch(words, host), late]).finally(() => clearTimeout(timer));
  return { code, stdout: Buffer.from(host.out), stderr: host.err };
}

export type JobShown = {
  readonly jid: string;
  readonly value: unknown;
  readonly code: number | null;
  readonly stderr: string;
};
