/** A site under chaos: our master, all of whose files are on a small disk, with simulated minions, minions of ours and, where they are installed, stock ones. */
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
  /** Of each installed release, and of ours. */
  readonly realMinions: number;
  /** Bytes that a job's return has, from and to. */
  readonly returnBytes: readonly [number, number];
};

const upTimeoutMs = 180_000;
const startTriesMs = 60_000;

export class ChaosSite {
  readonly disk: SmallDisk;
  readonly master: MasterUnderTest;
  readonly fleet: Fleet;
  /** Ours and stock ones. */
  readonly #realMinions: MinionUnderTest[];
  readonly #bed: TestBed;
  /** Whether the master is meant to run now: then its end is a defect. */
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

  /** As an operator would start a minion again that stands still. @returns which of the ids are stock minions and were */
  async restartStockMinions(ids: readonly string[]): Promise<string[]> {
    const restarted: string[] = [];
    for (const [index, minion] of this.#realMinions.entries()) {
      if (minion.maker === "ours" || !ids.includes(minion.id)) continue;
      await minion.program.kill();
      this.#realMinions[index] = new MinionUnderTest(this.master, minion.maker, minion.id);
      restarted.push(minion.id);
    }
    return restarted;
  }

  client(): LocalClient {
    return new LocalClient({ requestPort: this.master.requestPort, cacheDirectory: this.cacheDirectory });
  }

  /** Why the master ended although no disturbance of ours ended it; undefined while it runs. */
  unexpectedEnd(): string | undefined {
    if (!this.#isMeantToRun) return undefined;
    try {
      process.kill(this.master.program.pid, 0);
      return undefined;
    } catch {
      return `the master ended on its own: ${this.master.program.output.slice(-2_000)}`;
    }
  }

  /** Ends the master, by KILL or in good order. */
  async endMaster(how: "KILL" | "TERM"): Promise<void> {
    this.#isMeantToRun = false;
    if (how === "KILL") await this.master.program.kill();
    else await this.master.program.stop();
  }

  /** @returns why it does not start, undefined if it did */
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

  /** Takes all the room there is, as another program's files do. */
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

/** Ends with its own exit code, whatever that is: a full disk is what is wanted. */
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
