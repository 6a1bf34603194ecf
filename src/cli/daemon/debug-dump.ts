/**
 * SIGUSR1 writes the stacks of all threads and the state of the process to the log and, without a terminal, to a file named as
 * Salt's: `salt-debug-TIME.log` in the temporary directory. Without a listener Node.js would open a debugger, through which every
 * local user could run code in this process.
 */
import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import { namesIfReadable } from "../../config/files/missing.ts";
import { hasCodeIn } from "../../config/files/system-errors.ts";
import { debugDumpBytesMax, debugFileTriesMax } from "../../limits.ts";
import { threadStacks } from "./thread-stacks.ts";

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
/** The dump holds no secrets, but other users need not read it. */
const mode = 0o600;

export type Dumping = {
  /** Such as `master`. */
  readonly role: string;
  readonly log: Pick<Logger, "warn" | "error">;
  /** The daemon's own report. */
  readonly state: () => Promise<string>;
  /** Undefined if standard error is not a terminal. */
  readonly terminal: ((text: string) => void) | undefined;
};

/** Makes a dump at each SIGUSR1. Ignores further signals until the dump is written. */
export function dumpOnSignal(dumping: Dumping): void {
  let isDumping = false;
  process.on("SIGUSR1", () => {
    if (isDumping) return;
    isDumping = true;
    const stack = new Error("the main thread at this moment").stack ?? "";
    dump(dumping, stack)
      .catch((error: unknown) => dumping.log.error({ err: error }, "SIGUSR1: the dump failed"))
      .finally(() => {
        isDumping = false;
      });
  });
  process.on("SIGUSR2", () => dumping.log.warn("SIGUSR2: ignored, because this program has no profiler"));
}

async function dump(dumping: Dumping, stack: string): Promise<void> {
  const text = (await describe(dumping, stack)).slice(0, debugDumpBytesMax);
  if (dumping.terminal !== undefined) {
    dumping.terminal(text);
    dumping.log.warn({ dump: text }, "SIGUSR1: stacks and state");
    return;
  }
  const file = writeNew(text);
  dumping.log.warn({ file, dump: text }, "SIGUSR1: stacks and state");
}

async function describe({ role, state }: Dumping, stack: string): Promise<string> {
  const resources = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) resources.set(name, (resources.get(name) ?? 0) + 1);
  const json = (value: unknown): string => JSON.stringify(value);
  const parts = [
    `======== Salt Debug Stack Trace: saltworks ${role} =========`,
    `process ${process.pid}, user ${process.getuid?.()}, Node.js ${process.version}, up ${Math.round(process.uptime())} s`,
    `-------- main thread\n${stack}`,
    `open: ${json(Object.fromEntries(resources))}`,
    `-------- threads of JavaScript\n${(await threadStacks()).join("\n")}`,
    `-------- threads of the system\n${systemThreads().join("\n")}`,
    `-------- memory and time\n${json(process.memoryUsage())}\n${json(process.resourceUsage())}`,
    `-------- state\n${figures(await state())}`,
    "=========================================",
  ];
  return `${parts.join("\n")}\n`;
}

/** Metrics without comment lines, histogram buckets and zeros. */
function figures(text: string): string {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#") && !/_bucket\{|\s0$/.test(line))
    .join("\n");
}

/** Each thread's id, name and state, and the kernel function in which it waits if this user may read that. */
function systemThreads(): string[] {
  const folder = "/proc/self/task";
  // Empty for a thread that has ended, and on systems without /proc.
  return namesIfReadable(folder).map((id) => {
    const status = textOf(join(folder, id, "status"));
    const field = (name: string) => new RegExp(`^${name}:\\s+(.*)$`, "m").exec(status)?.[1] ?? "";
    return `${id} ${field("Name")} ${field("State")} ${textOf(join(folder, id, "wchan"))}`.trimEnd();
  });
}

/** Always makes a new file, because an existing file or link can belong to another user. */
function writeNew(text: string): string {
  const stem = join(tmpdir(), `salt-debug-${Math.floor(Date.now() / 1_000)}`);
  for (let tried = 0; ; tried += 1) {
    const file = tried === 0 ? `${stem}.log` : `${stem}-${process.pid}-${tried}.log`;
    try {
      const descriptor = openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
      writeSync(descriptor, text);
      closeSync(descriptor);
      return file;
    } catch (error) {
      if (!hasCodeIn(error, "EEXIST") || tried >= debugFileTriesMax) throw error;
    }
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
