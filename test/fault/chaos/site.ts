/** A site under chaos: our master with all files on a small disk, simulated minions, our minions and, if installed, stock ones. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { join } from "node:path";
import { type Fleet, openFleet } from "../../../bench/fleet/fleet.ts";
import { LocalClient } from "../../../bench/local-client.ts";
import { SaltworksError } from "../../../src/errors.ts";
import { findRelease, testedReleases } from "../../interop/salt-releases.ts";
import { type Maker, MasterUnderTest, MinionUnderTest, TestBed } from "../../interop/test-bed.ts";
import { mountSmallDisk, type SmallDisk } from "../small-disk.ts";

export type SiteOptions = {
  readonly diskMegabytes: number;
  readonly simulatedMinions: number;
  /** Minions of each installed release, and of ours. */
  readonly realMinions: number;
  /** Least and most bytes of a return to a job. */
  readonly returnBytes: readonly [number, number];
};

const upTimeoutMs = 180_000;
const startTriesMs = 60_000;
/** Of a minion that does not answer, characters and lines. */
const wordsLength = 3_000;
const wordsLines = 20;

export class ChaosSite {
  readonly disk: SmallDisk;
  readonly master: MasterUnderTest;
  readonly fleet: Fleet;
  /** Our minions and stock ones. */
  readonly #realMinions: MinionUnderTest[];
  readonly #bed: TestBed;
  /** Whether the master should run now, so that its end is a defect. */
  #isMeantToRun = true;

  private constructor(
    disk: SmallDisk,
    bed: TestBed,
    master: MasterUnderTest,
    fleet: Fleet,
    realMinions: MinionUnderTest[],
  ) {
    this.disk = disk;
    this.#bed = bed;
    this.master = master;
    this.fleet = fleet;
    this.#realMinions = realMinions;
  }

  /** Resolves when every minion is up. @throws SaltworksError TASK_TIMEOUT */
  static async open(options: SiteOptions): Promise<ChaosSite> {
    const disk = mountSmallDisk(options.diskMegabytes);
    if (disk === undefined) throw new SaltworksError("USAGE", "only root can mount a small disk");
    process.once("exit", disk.remove);
    const bed = new TestBed();
    let fleet: Fleet | undefined;
    try {
      const master = await MasterUnderTest.create(bed, "ours", {
        root_dir: "/",
        pki_dir: join(disk.path, "pki"),
        cachedir: join(disk.path, "cache"),
        log_file: join(disk.path, "log"),
        auto_accept: true,
        max_open_files: 20_000,
      });
      await master.start();
      fleet = await openFleet({
        masterHost: "127.0.0.1",
        requestPort: master.requestPort,
        minionCount: options.simulatedMinions,
        returnBytes: options.returnBytes,
        returnDelayMs: [0, 800],
        returnTimeoutMs: [2_000, 4_000],
        returnTries: 10_000,
        reconnectMs: [100, 500],
        isRecordingAcks: true,
      });
      const realMinions = await startRealMinions(master, options.realMinions);
      await fleet.untilUp(upTimeoutMs);
      return new ChaosSite(disk, bed, master, fleet, realMinions);
    } catch (error) {
      await fleet?.close();
      await bed.close();
      process.off("exit", disk.remove);
      disk.remove();
      throw error;
    }
  }

  get cacheDirectory(): string {
    return join(this.disk.path, "cache");
  }

  get pkiDirectory(): string {
    return join(this.disk.path, "pki");
  }

  get realIds(): string[] {
    return this.#realMinions.map(({ id }) => id);
  }

  /** Restarts a minion that stopped answering, as an operator would. @returns the restarted stock minions among the ids */
  async restartStockMinions(ids: readonly string[]): Promise<string[]> {
    const restarted: string[] = [];
    for (const [index, minion] of this.#realMinions.entries()) {
      if (minion.maker === "ours" || !ids.includes(minion.id)) continue;
      await minion.program.kill();
      // A supervisor removes them, too: Salt takes a process that is named there and not reaped yet for the minion.
      for (const name of ["pid", "process_responsibility_pid"])
        rmSync(join(minion.configDir, "..", name), { force: true });
      this.#realMinions[index] = new MinionUnderTest(this.master, minion.maker, minion.id);
      restarted.push(minion.id);
    }
    return restarted;
  }

  /** What it printed last, and what the master's log says of it. */
  lastWords(id: string): string {
    const minion = this.#realMinions.find((candidate) => candidate.id === id);
    const ofMaster = this.master.program.output.split("\n").filter((line) => line.includes(id));
    return [id, minion?.program.output.slice(-wordsLength) ?? "", ...ofMaster.slice(-wordsLines)].join("\n");
  }

  client(): LocalClient {
    return new LocalClient({ requestPort: this.master.requestPort, cacheDirectory: this.cacheDirectory });
  }

  /** The reason if the master ended without a disturbance; undefined while it runs. */
  unexpectedEnd(): string | undefined {
    if (!this.#isMeantToRun) return undefined;
    try {
      process.kill(this.master.program.pid, 0);
      return undefined;
    } catch {
      return `the master ended on its own: ${this.master.program.output.slice(-2_000)}`;
    }
  }

  /** Ends the master by KILL or TERM. */
  async endMaster(how: "KILL" | "TERM"): Promise<void> {
    this.#isMeantToRun = false;
    if (how === "KILL") await this.master.program.kill();
    else await this.master.program.stop();
  }

  /** @returns the reason why it does not start; undefined if it started */
  async startMaster(): Promise<string | undefined> {
    const deadline = performance.now() + startTriesMs;
    for (;;) {
      try {
        await this.master.start();
        this.#isMeantToRun = true;
        return undefined;
      } catch (error) {
        await this.master.program.kill();
        if (performance.now() > deadline || this.isFull)
          return `${(error as Error).message}: ${this.master.program.output}`;
      }
    }
  }

  isFull = false;

  /** Takes all free room of the disk, as another program's files could. */
  async fillDisk(): Promise<void> {
    const { bavail, bsize } = await statfs(this.disk.path);
    mkdirSync(join(this.disk.path, "ballast"), { recursive: true });
    this.isFull = true;
    await ended("fallocate", ["-l", String(Math.max(bsize, bavail * bsize)), join(this.disk.path, "ballast", "large")]);
    await ended("dd", ["if=/dev/zero", `of=${join(this.disk.path, "ballast", "rest")}`, "bs=4k"]);
  }

  freeDisk(): void {
    rmSync(join(this.disk.path, "ballast"), { recursive: true, force: true });
    this.isFull = false;
  }

  logs(): string {
    return this.#bed.logs();
  }

  async close(): Promise<void> {
    this.#isMeantToRun = false;
    await this.fleet.close();
    await this.#bed.close();
    process.off("exit", this.disk.remove);
    this.disk.remove();
  }
}

/** Ends with any exit code, because a full disk is intended. */
async function ended(command: string, args: readonly string[]): Promise<void> {
  await once(spawn(command, args, { stdio: "ignore" }), "close");
}

async function startRealMinions(master: MasterUnderTest, each: number): Promise<MinionUnderTest[]> {
  if (each === 0) return [];
  const found = await Promise.all(testedReleases.map((name) => findRelease(name)));
  const makers: Maker[] = ["ours", ...found.filter((release) => release !== undefined)];
  return makers.flatMap((maker) =>
    Array.from({ length: each }, (_, index) => {
      const id = `real-${maker === "ours" ? "saltworks" : maker.name}-${index}`;
      return new MinionUnderTest(master, maker, id);
    }),
  );
}
