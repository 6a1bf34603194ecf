/**
 * Reads objects of a repository through one long-lived `git cat-file --batch`, which starts with the first question and ends after a pause. Questions
 * are answered in their order. Source: git's manual.
 */
import type { ChildProcess } from "node:child_process";
import { SaltworksError } from "../errors.ts";
import { gitIdleMs, gitObjectsWaitingMax, gitReadTimeoutMs } from "../limits.ts";
import { endGit, type GitEnvironment, notStarted, startGit } from "./program.ts";

export type GitObject = { readonly oid: string; readonly type: string; readonly content: Buffer };
type Waiting = { readonly resolve: (object: GitObject | undefined) => void; readonly reject: (error: Error) => void };

const noBytes = Buffer.alloc(0);
const newline = 0x0a;

export class ObjectReader {
  readonly #directory: string;
  readonly #environment: GitEnvironment;
  readonly #waiting: Waiting[] = [];
  #program: ChildProcess | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** What has come of the answer to the first question. */
  #parts: Buffer[] = [];
  #bytes = 0;
  #headLength = 0;
  #head: { readonly oid: string; readonly type: string; readonly size: number } | undefined;

  constructor(directory: string, environment: GitEnvironment) {
    this.#directory = directory;
    this.#environment = environment;
  }

  /** `name`: an object's id, or an id with `^{commit}`, which is unknown if it names something else. Large objects are for `runGit`. @returns undefined for an unknown one. @throws SaltworksError GIT_FAILED, QUEUE_FULL */
  read(name: string): Promise<GitObject | undefined> {
    if (!/^[0-9a-f]{4,64}(?:\^\{commit\})?$/.test(name)) return Promise.resolve(undefined);
    if (this.#waiting.length >= gitObjectsWaitingMax) {
      const text = `${gitObjectsWaitingMax} questions to git wait already`;
      return Promise.reject(new SaltworksError("QUEUE_FULL", text, { max: gitObjectsWaitingMax }));
    }
    return new Promise((resolve, reject) => {
      try {
        this.#program ??= this.#start();
      } catch (error) {
        reject(error as Error);
        return;
      }
      this.#waiting.push({ resolve, reject });
      if (this.#waiting.length === 1) this.#await();
      this.#program.stdin?.write(`${name}\n`);
    });
  }

  /** Ends the program. Questions under way fail. */
  close(): void {
    const program = this.#program;
    this.#program = undefined;
    clearTimeout(this.#timer);
    if (program !== undefined) endGit(program);
    const error = new SaltworksError("GIT_FAILED", "git has ended before it answered");
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    this.#parts = [];
    this.#bytes = 0;
    this.#head = undefined;
  }

  #start(): ChildProcess {
    const program = startGit(["--git-dir", this.#directory, "cat-file", "--batch"], this.#environment, "pipe");
    const lose = () => {
      if (this.#program === program) this.close();
    };
    program.stdout?.on("data", (chunk: Buffer) => {
      if (this.#program === program) this.#take(chunk);
    });
    program.stderr?.resume();
    program.stdin?.on("error", lose);
    program.once("close", lose);
    program.once("error", (error) => {
      const [first] = this.#waiting.splice(0, 1);
      first?.reject(notStarted(error));
      lose();
    });
    // Between questions the program keeps no other one running.
    program.unref();
    for (const pipe of [program.stdin, program.stdout, program.stderr])
      (pipe as { unref?: () => void } | null)?.unref?.();
    return program;
  }

  /** Waits for the answer to the first question, or, without one, ends the program after a pause. */
  #await(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.close(), this.#waiting.length > 0 ? gitReadTimeoutMs : gitIdleMs);
    if (this.#waiting.length === 0) this.#timer.unref();
  }

  #take(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    while (this.#waiting.length > 0 && this.#answer());
  }

  /** Answers the first question, if its answer is there. */
  #answer(): boolean {
    if (this.#head === undefined && !this.#readHead()) return false;
    const head = this.#head;
    const size = head?.size ?? 0;
    const end = head === undefined ? this.#headLength : this.#headLength + size + 1;
    if (this.#bytes < end) return false;
    const all = this.#joined();
    const content = Buffer.from(all.subarray(this.#headLength, this.#headLength + size));
    this.#parts = [all.subarray(end)];
    this.#bytes -= end;
    this.#head = undefined;
    const first = this.#waiting.shift();
    this.#await();
    first?.resolve(head === undefined ? undefined : { oid: head.oid, type: head.type, content });
    return true;
  }

  /** `OID TYPE SIZE`, or `NAME missing`. @returns whether the line is there */
  #readHead(): boolean {
    const all = this.#joined();
    const at = all.indexOf(newline);
    if (at < 0) return false;
    this.#headLength = at + 1;
    const found = /^([0-9a-f]+) (\w+) (\d+)$/.exec(all.toString("latin1", 0, at));
    const [, oid, type, size] = found ?? [];
    this.#head = oid === undefined || type === undefined ? undefined : { oid, type, size: Number(size) };
    return true;
  }

  #joined(): Buffer {
    const all = this.#parts.length === 1 ? (this.#parts[0] ?? noBytes) : Buffer.concat(this.#parts);
    this.#parts = [all];
    return all;
  }
}
