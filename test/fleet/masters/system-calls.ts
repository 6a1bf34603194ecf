/** The system calls of a program: `strace` attached to it, its record read as events in order. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

const attachDeadlineMs = 20_000;
/** Calls that carry a request or a reply, or make data durable. */
const tracedCalls = "read,write,writev,pwrite64,pwritev,fsync,fdatasync,msync";

export function hasStrace(): boolean {
  return spawnSync("strace", ["-V"]).status === 0;
}

/** `start` and `end`: lines of the record at which the call began and ended. `result` is -1 for a call that failed or never ended. */
export type SystemCall = {
  readonly name: string;
  readonly args: string;
  readonly start: number;
  readonly end: number;
  readonly result: number;
};

export class SystemCallTrace {
  readonly #child: ChildProcess;
  readonly #file: string;

  private constructor(child: ChildProcess, file: string) {
    this.#child = child;
    this.#file = file;
  }

  /** Resolves when all threads of the process are traced. */
  static attach(processId: number, file: string): Promise<SystemCallTrace> {
    const args = ["-f", "-yy", "-s", "0", "-e", `trace=${tracedCalls}`, "-o", file, "-p", String(processId)];
    const child = spawn("strace", args, { stdio: ["ignore", "ignore", "pipe"] });
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => child.kill("SIGKILL"), attachDeadlineMs);
      let said = "";
      child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (!said.includes(`Process ${processId} attached`)) return;
        clearTimeout(timer);
        resolve(new SystemCallTrace(child, file));
      });
      child.once("error", reject);
      child.once("exit", () => {
        clearTimeout(timer);
        reject(new Error(`strace did not attach: ${said}`));
      });
    });
  }

  /** Detaches from the process. @returns its calls, in the order of their start */
  async stop(): Promise<SystemCall[]> {
    const hasEnded = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGINT");
    await hasEnded;
    return parseTrace(readFileSync(this.#file, "utf8"));
  }
}

const wholeCall = /^(\d+)\s+(\w+)\((.*)\)\s+= (-?\d+)/;
const enteredCall = /^(\d+)\s+(\w+)\((.*)<unfinished \.\.\.>$/;
const leftCall = /^(\d+)\s+<\.\.\. (\w+) resumed>(.*)\)\s+= (-?\d+)/;

/** A call that is interrupted by another thread's line takes two lines: one at its start, one at its end. */
export function parseTrace(text: string): SystemCall[] {
  const calls: SystemCall[] = [];
  const entered = new Map<string, { readonly name: string; readonly args: string; readonly start: number }>();
  for (const [line, content] of text.split("\n").entries()) {
    const whole = wholeCall.exec(content);
    const [, thread = "", name = "", args = "", result] =
      whole ?? leftCall.exec(content) ?? enteredCall.exec(content) ?? [];
    if (whole !== null) {
      calls.push({ name, args, start: line, end: line, result: Number(result) });
    } else if (result === undefined) {
      if (name !== "") entered.set(thread, { name, args, start: line });
    } else {
      const begun = entered.get(thread);
      entered.delete(thread);
      if (begun?.name === name) {
        calls.push({ name, args: begun.args + args, start: begun.start, end: line, result: Number(result) });
      }
    }
  }
  return calls.sort((a, b) => a.start - b.start);
}

/** One request on a connection: from the call that read it to the call that wrote its reply. */
export type Exchange = { readonly arrivedAt: number; readonly repliedAt: number };

/** The requests to `port`, one connection at a time, each with the reply that followed it there. */
export function exchangesOn(calls: readonly SystemCall[], port: number): Exchange[] {
  const exchanges: Exchange[] = [];
  const arrivals = new Map<string, number>();
  for (const call of calls) {
    const connection = /<(TCP:\[[^\]]*:(\d+)->[^\]]*\])>/.exec(call.args);
    if (connection === null || Number(connection[2]) !== port || call.result <= 0) continue;
    const [, name = ""] = connection;
    if (call.name === "read") {
      if (!arrivals.has(name)) arrivals.set(name, call.end);
    } else if (call.name === "write" || call.name === "writev") {
      const arrivedAt = arrivals.get(name);
      if (arrivedAt !== undefined) exchanges.push({ arrivedAt, repliedAt: call.start });
      arrivals.delete(name);
    }
  }
  return exchanges;
}

/** O_DSYNC of a descriptor's flags: a write returns when it is on the disk. */
const dataSyncFlag = 0o10000;

/** Undefined for a descriptor that was closed after it was listed, such as a connection's. */
function fileOf(processId: number, descriptor: string): string | undefined {
  try {
    return readlinkSync(`/proc/${processId}/fd/${descriptor}`);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** The process's descriptors of files under `path` with synced writes, as `number<file`. */
export function syncedDescriptors(processId: number, path: string): Set<string> {
  const found = new Set<string>();
  for (const descriptor of readdirSync(`/proc/${processId}/fd`)) {
    const file = fileOf(processId, descriptor);
    if (file === undefined || !file.startsWith(path)) continue;
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(join(`/proc/${processId}/fdinfo`, descriptor), "utf8"))?.[1];
    if (Number.parseInt(flags ?? "0", 8) & dataSyncFlag) found.add(`${descriptor}<${file}`);
  }
  return found;
}

/** The job cache's log of one worker, the first place of returns. */
const logFile = /\/returns-[^/>]*\.log>/;

/**
 * Whether, between the two lines of an exchange, files under `path` were synced successfully, and the last write to each of them is
 * on the disk, too: by a later sync, or because its descriptor (one of `synced`) syncs each write.
 * `msync` names no file, so only the form that waits counts.
 */
export function isSyncedWithin(
  calls: readonly SystemCall[],
  { arrivedAt, repliedAt }: Exchange,
  path: string,
  synced: ReadonlySet<string>,
): boolean {
  const inside = calls.filter((call) => call.start > arrivedAt && call.end < repliedAt && call.result >= 0);
  const syncs = inside.filter(({ name, args }) =>
    name === "msync" ? args.includes("MS_SYNC") : name.endsWith("sync") && args.includes(path),
  );
  const writes = inside.filter(({ name, args }) => name.includes("write") && args.includes(path));
  // After the log's sync the store's own files may be written already; the reply does not depend on those writes.
  const logged = writes.filter(({ args }) => logFile.test(args));
  if (logged.length > 0) {
    const fileIn = (args: string): string | undefined => /^\d+<[^>]*/.exec(args)?.[0];
    return logged.some((call) =>
      syncs.some(({ args, start }) => fileIn(args) === fileIn(call.args) && start > call.end),
    );
  }
  const lastSync = syncs.at(-1);
  const lastWrite = writes.at(-1);
  if (lastSync === undefined || lastWrite === undefined) return false;
  const descriptor = /^\d+<[^>]*/.exec(lastWrite.args)?.[0] ?? "";
  return lastSync.start > lastWrite.end || synced.has(descriptor);
}
