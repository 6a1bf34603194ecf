/** An operator at a master's machine, with Salt's commands or with ours: the same questions, so that the answers compare. */
import { type Ended, runCommand } from "./program.ts";
import { type Maker, type MasterUnderTest, makerName, ourProgram } from "./test-bed.ts";

/** What Salt's commands and ours end with when they do not understand their words. */
const usageExitCode = 64;

type Tool = "salt" | "key" | "run" | "cp";

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

  /** One command line, as typed after the name of the tool. */
  run(tool: Tool, args: readonly string[], options: { stdin?: string; timeoutMs?: number } = {}): Promise<Ended> {
    const words = ["-c", this.#configDir, ...args];
    if (this.maker === "ours") return runCommand(process.execPath, [ourProgram, tool, ...words], options);
    return runCommand(this.maker.program(tool === "salt" ? "salt" : `salt-${tool}`), words, options);
  }

  /** What `--out=json` prints, parsed; undefined where nothing is printed. */
  async json(tool: Tool, args: readonly string[]): Promise<unknown> {
    const ended = await this.run(tool, ["--out=json", ...args]);
    const text = ended.stdout.toString();
    if (ended.code === usageExitCode) throw new Error(`${this.name} ${tool} ${args.join(" ")}: ${ended.stderr}`);
    try {
      return text.trim() === "" ? undefined : JSON.parse(text);
    } catch (error) {
      throw new Error(`${this.name} ${tool} ${args.join(" ")} printed no JSON: ${text}${ended.stderr}`, {
        cause: error,
      });
    }
  }

  /** One job to one minion: its jid, what is shown for the minion, and the exit code. */
  async job(minionId: string, words: readonly string[]): Promise<JobShown> {
    const ended = await this.run("salt", ["--show-jid", "--out=json", minionId, ...words]);
    const text = ended.stdout.toString();
    const jid = /^jid: (\d{20})\n/.exec(text);
    if (jid?.[1] === undefined) throw new Error(`${this.name}: no job: ${text}${ended.stderr}`);
    const shown: unknown = JSON.parse(text.slice(jid[0].length) || "{}");
    const value = (shown as Record<string, unknown>)[minionId];
    return { jid: jid[1], value, code: ended.code, stderr: ended.stderr };
  }
}

export type JobShown = {
  readonly jid: string;
  readonly value: unknown;
  readonly code: number | null;
  readonly stderr: string;
};
