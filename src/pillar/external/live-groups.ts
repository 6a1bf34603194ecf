/**
 * The process groups of commands that run, in memory that outlives the thread which started them: when it is lost or the master stops,
 * its commands have no deadline any more and are ended by these numbers.
 */

export class LiveGroups {
  readonly #pids: Int32Array;

  /** `memory`: of `memoryFor`, the same for all threads. */
  constructor(memory: SharedArrayBuffer) {
    this.#pids = new Int32Array(memory);
  }

  static memoryFor(groupsMax: number): SharedArrayBuffer {
    return new SharedArrayBuffer(groupsMax * Int32Array.BYTES_PER_ELEMENT);
  }

  /** More than there are places for are not noted. */
  add(pid: number): void {
    const place = this.#pids.indexOf(0);
    if (place >= 0) this.#pids[place] = pid;
  }

  remove(pid: number): void {
    const place = this.#pids.indexOf(pid);
    if (place >= 0) this.#pids[place] = 0;
  }

  endAll(): void {
    for (const pid of this.#pids) if (pid !== 0) endGroup(pid);
    this.#pids.fill(0);
  }
}

/** @returns the system's code if processes run on: those of another user, as of `sudo`, cannot be ended */
export function endGroup(pid: number): string | undefined {
  try {
    process.kill(-pid, "SIGKILL");
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // It has ended in the meantime.
    return code === "ESRCH" ? undefined : (code ?? "an error");
  }
}
