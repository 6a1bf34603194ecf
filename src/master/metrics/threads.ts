/** CPU time of each thread of this process, by the name that the system has for it. Source: proc(5). */
import { readdirSync, readFileSync } from "node:fs";

/** Linux counts in hundredths of a second (USER_HZ), independent of the kernel's own clock. */
const ticksPerSecond = 100;
/** Fields of /proc/PID/stat behind the name: utime and stime are the 14th and 15th of all, counted from 1. */
const userTimeField = 11;

type Seen = {
  readonly name: string;
  readonly ticks: number;
  /** The part that the thread used under another name, because a starting thread has no name of its own yet. */
  readonly foreignTicks: number;
};

/** CPU time by name, which never decreases though threads come and go: readers of counters take a decrease for a restart. */
export class ThreadCpu {
  readonly #processId: number;
  #living: ReadonlyMap<string, Seen> = new Map();
  /** Of threads that ended or took another name. */
  readonly #endedTicks = new Map<string, number>();

  constructor(processId: number = process.pid) {
    this.#processId = processId;
  }

  /** Seconds by name; `main` is the main thread, `other` what Node and V8 run beside it. Empty where there is no /proc. */
  read(): Map<string, number> {
    if (process.platform !== "linux") return new Map();
    const living = this.#look();
    for (const [threadId, { name, ticks, foreignTicks }] of this.#living) {
      const now = living.get(threadId);
      const goesOn = now !== undefined && now.name === name && now.ticks >= ticks;
      if (!goesOn) add(this.#endedTicks, endedName(name), ticks - foreignTicks);
    }
    this.#living = living;
    const ticksByName = new Map(this.#endedTicks);
    for (const { name, ticks, foreignTicks } of living.values()) add(ticksByName, name, ticks - foreignTicks);
    return new Map([...ticksByName].map(([name, ticks]) => [name, ticks / ticksPerSecond]));
  }

  #look(): Map<string, Seen> {
    const living = new Map<string, Seen>();
    const mainName = nameAndTicks(this.#processId, String(this.#processId))?.name;
    for (const threadId of readdirSync(`/proc/${this.#processId}/task`)) {
      const found = nameAndTicks(this.#processId, threadId);
      if (found === undefined) continue;
      const isMain = threadId === String(this.#processId);
      const name = isMain ? "main" : found.name === mainName ? "other" : found.name;
      living.set(threadId, { name, ticks: found.ticks, foreignTicks: this.#foreignTicks(threadId, name, found.ticks) });
    }
    return living;
  }

  #foreignTicks(threadId: string, name: string, ticks: number): number {
    const before = this.#living.get(threadId);
    // A thread that has used less than before is a new one with a reused number.
    if (before === undefined || ticks < before.ticks) return 0;
    return before.name === name ? before.foreignTicks : before.ticks;
  }
}

/** Numbers of lane threads are not reused, so ended ones are one sum per lane; else the names would never stop growing. A shard's replacement keeps its name. */
function endedName(name: string): string {
  return name.startsWith("sw-shard-") ? name : name.replace(/^(sw-[a-z]+)-\d+$/, "$1-ended");
}

function add(sums: Map<string, number>, name: string, ticks: number): void {
  sums.set(name, (sums.get(name) ?? 0) + ticks);
}

function nameAndTicks(
  processId: number,
  threadId: string,
): { readonly name: string; readonly ticks: number } | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${processId}/task/${threadId}/stat`, "latin1");
  } catch (error) {
    // It ended between the listing and this line.
    if (hasEnded(error)) return undefined;
    throw error;
  }
  // The name stands in parentheses and may hold anything, parentheses too.
  const nameEnd = stat.lastIndexOf(")");
  const fields = stat.slice(nameEnd + 2).split(" ");
  const ticks = Number(fields[userTimeField]) + Number(fields[userTimeField + 1]);
  return { name: stat.slice(stat.indexOf("(") + 1, nameEnd), ticks };
}

/** Whether the process or thread ended since it was listed. */
export function hasEnded(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ESRCH";
}
