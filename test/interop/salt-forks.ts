/** Runs Salt's commands in forks of one interpreter per release that has imported Salt, because imports take most of a short command's time. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { commandTimeoutMs, type Ended, environment } from "./program.ts";
import { programsFolder, type SaltRelease } from "./salt-releases.ts";

const script = join(programsFolder, "fork_commands.py");

type Reply = { readonly id: number; readonly code?: number; readonly signal?: number };
/** `env`: the whole environment of the command; default the interpreter's. */
type Options = { readonly stdin?: string; readonly timeoutMs?: number; readonly env?: NodeJS.ProcessEnv };

const opened = new Map<string, SaltForks>();

/** Runs a program of the release like `runCommand`, without a new interpreter. */
export function runFork(release: SaltRelease, command: string, args: readonly string[], options: Options = {}) {
  const forks = opened.get(release.name) ?? new SaltForks(release);
  opened.set(release.name, forks);
  return forks.run([release.program(command), ...args], options);
}

/** The interpreter and its forks end when its input closes, with this process. It does not keep this process alive. */
class SaltForks {
  readonly #interpreter: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<number, (reply: Reply | Error) => void>();
  #count = 0;

  constructor(release: SaltRelease) {
    this.#interpreter = spawn(release.program("python"), [script], {
      env: environment(),
      stdio: ["pipe", "pipe", "inherit"],
    });
    createInterface(this.#interpreter.stdout).on("line", (line) => {
      const reply = JSON.parse(line) as Reply;
      this.#waiting.get(reply.id)?.(reply);
    });
    this.#interpreter.once("exit", (code, signal) => {
      opened.delete(release.name);
      const error = new Error(`the interpreter of Salt ${release.name} ended: ${code ?? signal}`);
      for (const settle of this.#waiting.values()) settle(error);
    });
    this.#interpreter.stdin.on("error", () => undefined);
    this.#hold();
  }

  async run(argv: readonly string[], options: Options): Promise<Ended> {
    const folder = mkdtempSync(join(tmpdir(), "swf-"));
    this.#count += 1;
    const id = this.#count;
    const timer = setTimeout(() => this.#tell({ kill: id }), options.timeoutMs ?? commandTimeoutMs);
    try {
      writeFileSync(join(folder, "stdin"), options.stdin ?? "");
      const { code, signal } = await this.#ended(id, { id, argv, folder, env: options.env });
      const stderr = readFileSync(join(folder, "stderr"), "utf8");
      const note = signal === undefined ? "" : `\n(ended by signal ${signal})`;
      return { code: code ?? null, stdout: readFileSync(join(folder, "stdout")), stderr: stderr + note };
    } finally {
      clearTimeout(timer);
      rmSync(folder, { recursive: true });
    }
  }

  async #ended(id: number, command: object): Promise<Reply> {
    const reply = await new Promise<Reply | Error>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#hold();
      this.#tell(command);
    });
    this.#waiting.delete(id);
    this.#hold();
    if (reply instanceof Error) throw reply;
    return reply;
  }

  #tell(message: object): void {
    this.#interpreter.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Keeps this process alive only while commands run. */
  #hold(): void {
    const change = this.#waiting.size > 0 ? "ref" : "unref";
    const { stdin, stdout } = this.#interpreter;
    for (const held of [this.#interpreter, stdin, stdout]) {
      if (held instanceof Socket || held === this.#interpreter) held[change]();
    }
  }
}
