/** A private folder with masters, minions and operators' commands. Ends everything that it started, and shows logs on failure. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../../bench/free-ports.ts";
import { EventWatch } from "./event-watch.ts";
import { Program } from "./program.ts";
import type { SaltRelease } from "./salt-releases.ts";

/** The compiled program beside this compiled file. */
export const ourProgram = fileURLToPath(new URL("../../src/cli/main.js", import.meta.url));

/** The program to start: a Salt release's, or ours. */
export type Maker = SaltRelease | "ours";
type Options = Readonly<Record<string, unknown>>;

const startTimeoutMs = 60_000;
/** Of one test: below a file's, so that a test that waits for ever names itself and shows the logs. */
const testTimeoutMs = 300_000;
/** Log lines of each program that a failing test shows. */
const shownLinesMax = 25;
const shownWidthMax = 400;

export function makerName(maker: Maker): string {
  return maker === "ours" ? "saltworks" : `salt ${maker.version}`;
}

/** JSON is YAML: one option a line, so that an error message has the right line. */
function writeConfig(path: string, options: Options): void {
  const lines = Object.entries(options).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  writeFileSync(path, `${lines.join("\n")}\n`);
}

export class TestBed {
  readonly folder = mkdtempSync(join(tmpdir(), "swi-"));
  readonly #programs: { program: Program; isOurs: boolean }[] = [];
  readonly #watches: EventWatch[] = [];

  start(name: string, maker: Maker, tool: "master" | "minion" | "syndic", configDir: string): Program {
    // Salt's own files as they are: a faster job makes a defect of 3007's minions likelier, which stop after two authentications at once.
    const [command, ...words] =
      maker === "ours" ? ([process.execPath, ourProgram, tool] as const) : ([maker.program(`salt-${tool}`)] as const);
    const logging = maker === "ours" ? [] : ["-l", "info"];
    const program = new Program(name, command, [...words, "-c", configDir, ...logging]);
    this.#programs.push({ program, isOurs: maker === "ours" });
    return program;
  }

  /** An HTTP API of ours beside its master, with a configuration file of its own. */
  startApi(name: string, master: MasterUnderTest, options: Options): Program {
    const configDir = join(this.folder, `${name}-api`);
    mkdirSync(configDir);
    writeConfig(join(configDir, "master"), master.optionsWith(options));
    const program = new Program(`api ${name}`, process.execPath, [ourProgram, "api", "-c", configDir]);
    this.#programs.push({ program, isOurs: true });
    return program;
  }

  async watchEvents(sockDir: string): Promise<EventWatch> {
    const watch = await EventWatch.open(sockDir, startTimeoutMs);
    this.#watches.push(watch);
    return watch;
  }

  /** A test that shows the last lines of all logs when it fails. */
  it(name: string, body: (t: TestContext) => Promise<void>, timeoutMs = testTimeoutMs): void {
    it(name, async (t) => {
      const isOver = new AbortController();
      const late = delay(timeoutMs, undefined, { signal: isOver.signal }).then(() => {
        throw new Error(`not at its end after ${timeoutMs} ms`);
      });
      try {
        await Promise.race([body(t), late]);
      } catch (error) {
        t.diagnostic(this.logs());
        throw error;
      } finally {
        isOver.abort();
        await late.catch(() => undefined);
      }
    });
  }

  logs(): string {
    const parts = this.#programs.map(({ program }) => {
      const lines = program.output
        .trimEnd()
        .split("\n")
        .slice(-shownLinesMax)
        .map((line) => line.slice(0, shownWidthMax));
      return [`--- ${program.name} (pid ${program.pid})`, ...lines].join("\n");
    });
    return parts.join("\n");
  }

  /** Ends all programs, latest first, and removes the folder. */
  async close(): Promise<void> {
    for (const watch of this.#watches) watch.close();
    // KILL, because Salt's daemons take many seconds to end, and their data is not needed.
    for (const { program, isOurs } of this.#programs.reverse()) await (isOurs ? program.stop() : program.kill());
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** One master with its folder: can be started and stopped again on the same ports. */
export class MasterUnderTest {
  readonly bed: TestBed;
  readonly maker: Maker;
  readonly configDir: string;
  readonly sockDir: string;
  readonly pkiDir: string;
  readonly cacheDir: string;
  readonly publishPort: number;
  readonly requestPort: number;
  readonly #name: string;
  #program: Program | undefined;

  private constructor(bed: TestBed, maker: Maker, name: string, ports: [number, number]) {
    const folder = join(bed.folder, name);
    this.#name = name;
    this.bed = bed;
    this.maker = maker;
    this.configDir = join(folder, "etc");
    this.sockDir = join(folder, "run");
    this.pkiDir = join(folder, "pki");
    this.cacheDir = join(folder, "cache");
    [this.publishPort, this.requestPort] = ports;
  }

  static async create(bed: TestBed, maker: Maker, options: Options = {}, name = "master"): Promise<MasterUnderTest> {
    const master = new MasterUnderTest(bed, maker, name, [await freePort(), await freePort()]);
    mkdirSync(master.configDir, { recursive: true });
    writeConfig(join(master.configDir, "master"), master.optionsWith(options));
    return master;
  }

  /** The options of this master's configuration file. */
  optionsWith(options: Options): Options {
    const folder = join(this.bed.folder, this.#name);
    return {
      id: `${this.#name}_master`,
      interface: "127.0.0.1",
      publish_port: this.publishPort,
      ret_port: this.requestPort,
      user: userInfo().username,
      root_dir: folder,
      pki_dir: this.pkiDir,
      cachedir: this.cacheDir,
      sock_dir: this.sockDir,
      log_file: join(folder, "log"),
      pidfile: join(folder, "pid"),
      // Otherwise a token in the user's home directory would log in commands that use this configuration.
      token_file: join(folder, "salt_token"),
      log_level: "info",
      worker_threads: 2,
      // What is not available does not depend on the machine's Salt.
      salt_python: false,
      ...options,
    };
  }

  /** A takeover: another program with the same folder, ports and configuration file. Only one of them may run. */
  madeBy(maker: Maker): MasterUnderTest {
    return new MasterUnderTest(this.bed, maker, this.#name, [this.publishPort, this.requestPort]);
  }

  get program(): Program {
    if (this.#program === undefined) throw new Error("the master was not started");
    return this.#program;
  }

  /** Resolves when both ports and the event bus are open. */
  async start(): Promise<void> {
    this.#program = this.bed.start(`master (${makerName(this.maker)})`, this.maker, "master", this.configDir);
    const isReady =
      this.maker === "ours" ? /master is ready/ : /Worker binding to socket|Starting MWorker|workers\.ipc/;
    await this.#program.untilLine(isReady, startTimeoutMs);
    const watch = await EventWatch.open(this.sockDir, startTimeoutMs);
    watch.close();
  }

  async restart(): Promise<void> {
    await this.program.stop();
    await this.start();
  }
}

/** One minion with its folder. */
export class MinionUnderTest {
  readonly id: string;
  readonly maker: Maker;
  readonly configDir: string;
  readonly program: Program;

  constructor(master: MasterUnderTest, maker: Maker, id: string, options: Options = {}, group = "") {
    const folder = join(master.bed.folder, group, id);
    this.id = id;
    this.maker = maker;
    this.configDir = join(folder, "etc");
    mkdirSync(this.configDir, { recursive: true });
    writeConfig(join(this.configDir, "minion"), {
      id,
      master: "127.0.0.1",
      publish_port: master.publishPort,
      master_port: master.requestPort,
      user: userInfo().username,
      root_dir: folder,
      pki_dir: join(folder, "pki"),
      cachedir: join(folder, "cache"),
      sock_dir: join(folder, "run"),
      log_file: join(folder, "log"),
      pidfile: join(folder, "pid"),
      log_level: "info",
      acceptance_wait_time: 1,
      enable_fqdns_grains: false,
      // A stock minion sends its return over its own event bus, which also trims at 1 MiB.
      max_event_size: 16 * 1024 * 1024,
      ...options,
    });
    this.program = master.bed.start(`minion ${id} (${makerName(maker)})`, maker, "minion", this.configDir);
  }
}

/**
 * Salt's `salt-syndic` beside a lower master of Salt's. It reads the lower master's configuration file, whose `syndic_master` and
 * `syndic_master_port` name the master above, and a minion's file with its id and the publish port above.
 */
export class SyndicUnderTest {
  readonly id: string;
  readonly program: Program;

  constructor(lower: MasterUnderTest, above: MasterUnderTest, release: SaltRelease, id: string) {
    // As on a machine with both: a syndic reads jobs below this folder.
    const folder = join(lower.configDir, "..");
    this.id = id;
    writeConfig(join(lower.configDir, "minion"), {
      id,
      user: userInfo().username,
      root_dir: folder,
      pki_dir: join(folder, "minion-pki"),
      // Otherwise a syndic takes the lower master's publish port, which usually equals the port above.
      publish_port: above.publishPort,
      acceptance_wait_time: 1,
      enable_fqdns_grains: false,
    });
    this.program = lower.bed.start(`syndic ${id} (salt ${release.version})`, release, "syndic", lower.configDir);
  }
}
