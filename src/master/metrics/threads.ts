/** Reads the CPU time of each thread of this process, by the thread's name in the system. Source: proc(5). */
import { readdirSync, readFileSync } from "node:fs";

/** /proc counts CPU time in hundredths of a second (USER_HZ), whatever the kernel's own tick. */
const ticksPerSecond = 100;
/** Index of utime among the fields of /proc/PID/stat that follow the name. utime and stime are fields 14 and 15 of proc(5). */
const userTimeField = 11;

type Seen = {
  readonly name: string;
  readonly ticks: number;
  /** CPU time that the thread used under an earlier name: a starting thread has its parent's name until it sets its own. */
  readonly foreignTicks: number;
};

/** CPU time by name. It never decreases though threads come and go, because readers of counters take a decrease for a restart. */
export class ThreadCpu {
  readonly #processId: number;
  #living: ReadonlyMap<string, Seen> = new Map();
  /** CPU time of threads that ended or changed their name. */
  readonly #endedTicks = new Map<string, number>();

  constructor(processId: number = process.pid) {
    this.#processId = processId;
  }

  /** Seconds by name. `main`: the main thread. `other`: helper threads of Node and V8. Empty on systems other than Linux. */
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
    // A thread with less CPU time than before is a new one with a reused thread id.
    if (before === undefined || ticks < before.ticks) return 0;
    return before.name === name ? before.foreignTicks : before.ticks;
  }
}

/**
 * The name under which an ended thread counts. Numbers of lane threads are not reused, so the ended threads of a lane are one sum; else the names
 * would never stop growing. A replaced worker keeps its name.
 */
function endedName(name: string): string {
  return name.startsWith("sw-worker-") ? name : name.replace(/^(sw-[a-z]+)-\d+$/, "$1-ended");
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
    // The thread ended after it was listed.
    if (hasEnded(error)) return undefined;
    throw error;
  }
  // The name stands in parentheses and may itself hold parentheses.
  const nameEnd = stat.lastIndexOf(")");
  const fields = stat.slice(nameEnd + 2).split(" ");
  const ticks = Number(fields[userTimeField]) + Number(fields[userTimeField + 1]);
  return { name: stat.slice(stat.indexOf("(") + 1, nameEnd), ticks };
}

/** Whether a read of /proc failed because the process or thread has ended. */
export function hasEnded(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "ENOENT" || code === "ESRCH";
}
