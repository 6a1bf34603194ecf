/**
 * The file of `audit_log`: lines are written in the background, in order, to a file that only its owner may read. Lines go to a new file once logrotate
 * has moved the old one. On a full disk, and above the bound of waiting lines, lines are lost and counted, and the master goes on.
 */
import { closeSync, fchmodSync, fstatSync, openSync, write } from "node:fs";
import { promisify } from "node:util";
import type { Logger } from "pino";
import { isMoved } from "../../config/files/moved.ts";
import { SaltworksError } from "../../errors.ts";
import { auditWaitingBytesMax, logFileLookMs } from "../../limits.ts";

const mode = 0o600;
const writeSome = promisify(write);

export class AuditFile {
  /** Lines. `lost`: for want of room, on the disk or in the queue. */
  readonly counters = { written: 0, lost: 0 };
  readonly #path: string;
  readonly #logger: Pick<Logger, "error">;
  #descriptor: number;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  #lookedMs = performance.now();
  /** Lines that were lost since the last one that was written. */
  #gap = 0;
  /** Whether the last write may have ended within a line. */
  #isTorn = false;

  /** @throws SaltworksError CONFIG_INVALID if the file cannot be opened */
  constructor(path: string, logger: Pick<Logger, "error">) {
    this.#path = path;
    this.#logger = logger;
    try {
      this.#descriptor = openPrivate(path);
    } catch (error) {
      const text = `audit_log: ${path} cannot be opened: ${(error as Error).message}`;
      throw new SaltworksError("CONFIG_INVALID", text, { path }, { cause: error });
    }
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Never throws. `line`: without its end. */
  write(line: string): void {
    if (this.#waitingBytes + line.length > auditWaitingBytesMax) {
      this.#lose(1, "more lines wait than are written");
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    this.#writing ??= this.#drain().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Lines go to the file that is now at the path, as after a rotation. */
  reopen(): void {
    try {
      const descriptor = openPrivate(this.#path);
      closeSync(this.#descriptor);
      this.#descriptor = descriptor;
    } catch (error) {
      this.#logger.error({ err: error }, "audit_log could not be reopened: lines go to the old file");
    }
  }

  /** Resolves once all lines are written or lost. */
  async close(): Promise<void> {
    await this.#writing;
    closeSync(this.#descriptor);
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Lines of one turn of the event loop are written together.
      await new Promise((resolve) => setImmediate(resolve));
      const lines = this.#waiting;
      this.#waiting = [];
      await this.#append(lines);
      this.#waitingBytes = this.#waiting.reduce((sum, { length }) => sum + length, 0);
    }
  }

  async #append(lines: readonly string[]): Promise<void> {
    if (performance.now() - this.#lookedMs >= logFileLookMs) this.#follow();
    const gap =
      this.#gap === 0 ? [] : [JSON.stringify({ time: new Date().toISOString(), event: "lost", lines: this.#gap })];
    const bytes = Buffer.from(`${this.#isTorn ? "\n" : ""}${[...gap, ...lines].join("\n")}\n`);
    let offset = 0;
    try {
      while (offset < bytes.length) offset += (await writeSome(this.#descriptor, bytes, offset)).bytesWritten;
      this.counters.written += lines.length;
      this.#gap = 0;
      this.#isTorn = false;
    } catch (error) {
      this.#isTorn ||= offset > 0;
      this.#lose(lines.length, (error as Error).message);
    }
  }

  #lose(lines: number, reason: string): void {
    if (this.#gap === 0) this.#logger.error({ reason }, "lines of audit_log are lost");
    this.#gap += lines;
    this.counters.lost += lines;
  }

  #follow(): void {
    this.#lookedMs = performance.now();
    if (isMoved(this.#descriptor, this.#path)) this.reopen();
  }
}

/** Also a file that logrotate has made for all to read becomes private. */
function openPrivate(path: string): number {
  const descriptor = openSync(path, "a", mode);
  const stat = fstatSync(descriptor);
  if (stat.isFile() && (stat.mode & 0o777) !== mode) fchmodSync(descriptor, mode);
  return descriptor;
}
