/**
 * The fleet on which Salt's transcripts were recorded, built of our programs or of Salt's: one master, six minions, and the commands
 * that an operator types there. All files are in one folder, which transcripts call ROOT.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { freePorts } from "../../../bench/free-ports.ts";
import { dispatch } from "../../../src/cli/dispatch.ts";
import { TestHost } from "../../cli/test-host.ts";
import { EventWatch } from "../../interop/event-watch.ts";
import { Program } from "../../interop/program.ts";
import { runFork } from "../../interop/salt-forks.ts";
import {
  es1Mine,
  goldenIds,
  goldenMaster,
  goldenMinion,
  goldenNodegroups,
  writeGoldenFiles,
  writeSettings,
} from "./files.ts";
import { allOurs, type Makers, makerOf, soonBack, startingWords, subcommandOf } from "./programs.ts";

type Settings = Readonly<Record<string, unknown>>;
/** A master's port for publishes and that for requests. */
type Pair = readonly [number, number];
type Ports = readonly [Pair, ...Pair[]];
type OtherMember = {
  readonly name: string;
  readonly ports: Pair;
  readonly settings: Settings;
  program: Program | undefined;
};

const startTimeoutMs = 120_000;
const sockPath = "var/run/salt/master";
/** Timeout: on a quiet machine each command of a transcript takes less than half. */
const commandTimeoutMs = 120_000;

export type CommandOptions = {
  /** For salt-call: the minion on whose machine it is typed. */
  readonly onMinion?: string;
  readonly stdin?: string;
  readonly timeoutMs?: number;
  /** Used instead of the fleet's own configuration directory. */
  readonly configDir?: string;
};

/** `atMs`: time since the command was started. */
export type PrintedLine = { readonly atMs: number; readonly text: string };

export type CommandResult = {
  readonly stdout: string;
  readonly stderr: string;
  /** null: a signal ended the command. */
  readonly rc: number | null;
  readonly lines: readonly PrintedLine[];
  readonly tookMs: number;
};

/** A running command. */
export class RunningCommand {
  readonly child: ChildProcess;
  readonly done: Promise<CommandResult>;
  readonly #onOutput = new Set<() => void>();
  #stdout = "";

  constructor(words: readonly [string, ...string[]], env: NodeJS.ProcessEnv, options: CommandOptions) {
    const startedMs = performance.now();
    const [command, ...args] = words;
    this.child = spawn(command, args, { env, stdio: "pipe" });
    const timer = setTimeout(() => this.child.kill("SIGKILL"), options.timeoutMs ?? commandTimeoutMs);
    const lines: PrintedLine[] = [];
    let stderr = "";
    this.child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      this.#stdout += chunk;
      for (const text of chunk.split(/(?<=\n)/)) lines.push({ atMs: performance.now() - startedMs, text });
      for (const listener of [...this.#onOutput]) listener();
    });
    this.child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      stderr += chunk;
    });
    // A command that reads no input may have ended already.
    this.child.stdin?.on("error", () => undefined);
    this.child.stdin?.end(options.stdin ?? "");
    this.done = once(this.child, "close").then(([code]) => {
      clearTimeout(timer);
      const rc = code as number | null;
      return { stdout: this.#stdout, stderr, rc, lines, tookMs: performance.now() - startedMs };
    });
  }

  /** Resolves when the output so far contains `text`, or when the command has ended. */
  async untilPrinted(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.#stdout)) {
      const next = new Promise<void>((resolve) => {
        const listener = () => {
          this.#onOutput.delete(listener);
          resolve();
        };
        this.#onOutput.add(listener);
      });
      const hasEnded = await Promise.race([next.then(() => false), this.done.then(() => true)]);
      if (hasEnded) return;
    }
  }
}

export class GoldenFleet {
  /** The folder that transcripts call ROOT. */
  readonly root = mkdtempSync(join(tmpdir(), "swg-"));
  readonly #ports: Pair;
  readonly #makers: Makers;
  readonly #ids: readonly string[];
  readonly #others: readonly OtherMember[];
  readonly #minions = new Map<string, Program>();
  #master: Program | undefined;

  private constructor(ports: Ports, makers: Makers, ids: readonly string[], others: readonly Settings[]) {
    this.#ports = ports[0];
    this.#makers = makers;
    this.#ids = ids;
    this.#others = others.map((settings, at) => ({
      name: `member${at + 2}`,
      ports: ports[at + 1] ?? ports[0],
      settings,
      program: undefined,
    }));
    writeGoldenFiles(this.root);
    mkdirSync(this.homeDir);
  }

  /**
   * Resolves when all minions are up. `settings`: further options of the master. `isAsked`: also waits until each minion has answered
   * a job, which then is in the history. `ids`: the minions to start. `others`: options of further members of the master's cluster, among which the
   * minions are spread.
   */
  static async start(
    settings: Settings = {},
    isAsked = true,
    makers: Makers = allOurs,
    ids: readonly string[] = goldenIds,
    others: readonly Settings[] = [],
  ): Promise<GoldenFleet> {
    const [publishPort = 0, requestPort = 0, ...further] = await freePorts(2 * (1 + others.length));
    const ports = others.map((_other, at): Pair => [further[2 * at] ?? 0, further[2 * at + 1] ?? 0]);
    const fleet = new GoldenFleet([[publishPort, requestPort], ...ports], makers, ids, others);
    try {
      // At once, because the first start of a cluster needs a majority.
      await Promise.all([fleet.startMaster(settings), ...fleet.#others.map((other) => fleet.#startOther(other))]);
      await fleet.#startMinions();
      if (isAsked) await fleet.untilAllAnswer();
      return fleet;
    } catch (error) {
      const logs = fleet.logs();
      await fleet.close();
      throw new Error(`the fleet did not come up:\n${logs}`, { cause: error });
    }
  }

  /** The release of the minions, if they are Salt's. */
  get release(): string | undefined {
    return this.#makers.minion === "ours" ? undefined : this.#makers.minion.version;
  }

  get configDir(): string {
    return join(this.root, "etc/salt");
  }

  get sockDir(): string {
    return join(this.root, sockPath);
  }

  get cacheDir(): string {
    return join(this.root, "var/cache/salt/master");
  }

  get pkiDir(): string {
    return join(this.root, "etc/salt/pki/master");
  }

  /** Home of the user that runs all programs; transcripts call it HOMEDIR. */
  get homeDir(): string {
    return join(this.root, "home");
  }

  minionConfigDir(id: string): string {
    return join(this.root, "minions", id, "etc/salt");
  }

  /** The configuration directory of each member of the master's cluster, its own first. */
  get configDirs(): readonly string[] {
    return [this.configDir, ...this.#others.map(({ name }) => join(this.root, name, "etc/salt"))];
  }

  /** Starts the master, also again with other options after a stop; resolves when its ports and its event bus are open. */
  async startMaster(settings: Settings = {}): Promise<void> {
    this.#writeMaster(this.root, this.#ports, { ...settings, id: "salt-master.example.com_master" });
    this.#master = this.#start("salt-master", this.configDir);
    if (this.#makers.master === "ours") await this.#master.untilLine(/master is ready/, startTimeoutMs);
    else (await this.watchEvents()).close();
  }

  #writeMaster(rootDir: string, [publishPort, requestPort]: Pair, settings: Settings): void {
    const configDir = join(rootDir, "etc/salt");
    writeSettings(join(configDir, "master"), {
      interface: "127.0.0.1",
      publish_port: publishPort,
      ret_port: requestPort,
      user: userInfo().username,
      root_dir: rootDir,
      file_roots: { base: [join(this.root, "srv/salt")] },
      pillar_roots: { base: [join(this.root, "srv/pillar")] },
      ...goldenMaster,
      ...settings,
    });
    writeSettings(join(configDir, "master.d/nodegroups.conf"), goldenNodegroups);
  }

  async #startOther(other: OtherMember): Promise<void> {
    const rootDir = join(this.root, other.name);
    this.#writeMaster(rootDir, other.ports, { ...other.settings, id: `${other.name}_master` });
    other.program = this.#start("salt-master", join(rootDir, "etc/salt"));
    await other.program.untilLine(/master is ready/, startTimeoutMs);
  }

  async stopMaster(): Promise<void> {
    // Salt's master takes long to end, and has nothing left to write.
    await (this.#makers.master === "ours" ? this.#master?.stop() : this.#master?.kill());
    this.#master = undefined;
  }

  /** Kills the master's process, so that its sockets stay behind. */
  async killMaster(): Promise<void> {
    await this.#master?.kill();
    this.#master = undefined;
  }

  /** Restarts the master with other options; resolves when all minions are back. */
  async restartMaster(settings: Settings): Promise<void> {
    await this.stopMaster();
    await this.startMaster(settings);
    await this.untilAllAnswer();
  }

  /** Connections to both sockets of the master's event bus. */
  subscriberCount(): number {
    const rows = readFileSync("/proc/net/unix", "utf8").split("\n");
    const paths = ["pub", "own"].map((name) => `${this.sockDir}/master_event_${name}.ipc`);
    return rows.filter((row) => row.includes(" 03 ") && paths.some((path) => row.endsWith(path))).length;
  }

  watchEvents(): Promise<EventWatch> {
    return EventWatch.open(this.sockDir, startTimeoutMs);
  }

  /** Asks until every minion answers, because after a restart each reconnects at another time. */
  async untilAllAnswer(): Promise<void> {
    const deadlineMs = performance.now() + startTimeoutMs;
    for (;;) {
      const { rc, stdout, stderr } = await this.ask(["salt", "-t", "1", "--out=txt", "*", "test.ping"]);
      if (rc === 0 && stdout.trim().split("\n").length === this.#ids.length) return;
      if (performance.now() > deadlineMs) throw new Error(`not all minions are back: ${stdout}${stderr}`);
    }
  }

  /** Waits until no minion runs a job: one of Salt's may count a job as running for a minute after its return. */
  async untilAtRest(): Promise<void> {
    const deadlineMs = performance.now() + startTimeoutMs;
    for (;;) {
      const { stdout } = await this.ask(["salt-run", "jobs.active", "--out=json"]);
      if (stdout.trim() === "{}") return;
      if (performance.now() > deadlineMs) throw new Error(`jobs run still: ${stdout}`);
    }
  }

  /** Stops the minion's processes as `kill -STOP` does; processes of its jobs continue. */
  freeze(id: string): void {
    process.kill(this.#minion(id).pid, "SIGSTOP");
  }

  thaw(id: string): void {
    process.kill(this.#minion(id).pid, "SIGCONT");
  }

  /** A command line of a transcript: the program and its words, with ROOT for the fleet's folder. */
  open(argv: readonly string[], options: CommandOptions = {}): RunningCommand {
    const { words, env } = this.#started(argv, options);
    return new RunningCommand(words, env, options);
  }

  #started(argv: readonly string[], options: CommandOptions) {
    const [program = "", ...words] = argv.map((word) => word.replaceAll("ROOT", this.root));
    const onMinion = program === "salt-call" ? (options.onMinion ?? "es1") : undefined;
    const ownConfigDir = onMinion === undefined ? this.configDir : this.minionConfigDir(onMinion);
    const [command, ...first] = startingWords(program, this.#makers);
    const all = [command, ...first, "-c", options.configDir ?? ownConfigDir, ...words] as const;
    return { words: all, env: this.#environment(program, onMinion) };
  }

  /** Salt's `salt-call` runs in a fork of an interpreter that has imported Salt. */
  async run(argv: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    const { minion } = this.#makers;
    if (argv[0] !== "salt-call" || minion === "ours") return await this.open(argv, options).done;
    const { words, env } = this.#started(argv, options);
    const startedMs = performance.now();
    const ended = await runFork(minion, "salt-call", words.slice(1), { ...options, env });
    const tookMs = performance.now() - startedMs;
    return { stdout: ended.stdout.toString(), stderr: ended.stderr, rc: ended.code, lines: [], tookMs };
  }

  /** As `run`, in this process, because a new process takes most of a short command's time. */
  async runHere(argv: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    const [program = "", ...words] = argv.map((word) => word.replaceAll("ROOT", this.root));
    const host = new TestHost(options.stdin);
    host.environment = { HOME: this.homeDir };
    const startedMs = performance.now();
    const rc = await dispatch([subcommandOf(program), "-c", options.configDir ?? this.configDir, ...words], host);
    return { stdout: host.out, stderr: host.err, rc, lines: [], tookMs: performance.now() - startedMs };
  }

  /** A command between recorded ones: its output is not compared, so ours needs no process of its own. */
  ask(argv: readonly string[]): Promise<CommandResult> {
    return this.#makers.master === "ours" ? this.runHere(argv) : this.run(argv);
  }

  /** The last lines of all programs' logs. */
  logs(): string {
    const masters = [this.#master, ...this.#others.map(({ program }) => program)];
    const programs = [...masters, ...this.#minions.values()].filter((program) => program !== undefined);
    return programs.map((program) => `--- ${program.name}\n${program.output.slice(-2_000)}`).join("\n");
  }

  async close(): Promise<void> {
    for (const minion of this.#minions.values()) minion.killNow();
    await Promise.all([this.stopMaster(), ...this.#others.map(({ program }) => program?.stop())]);
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }

  async #startMinions(): Promise<void> {
    const rootDirs = [this.root, ...this.#others.map(({ name }) => join(this.root, name))];
    const opening = rootDirs.map((dir) => EventWatch.open(join(dir, sockPath), startTimeoutMs));
    const watches = await Promise.all(opening);
    try {
      for (const id of this.#ids) this.#startMinion(id);
      // The event of a minion's start is shown by its own member.
      for (const [at, id] of this.#ids.entries()) {
        const watch = watches[at % watches.length];
        await watch?.until(`${id} start`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
      }
    } finally {
      for (const watch of watches) watch.close();
    }
  }

  #startMinion(id: string): void {
    const configDir = this.minionConfigDir(id);
    const masters = [this.#ports, ...this.#others.map(({ ports }) => ports)];
    const [publishPort, requestPort] = masters[this.#ids.indexOf(id) % masters.length] ?? this.#ports;
    writeSettings(join(configDir, "minion"), {
      id,
      master: "127.0.0.1",
      publish_port: publishPort,
      master_port: requestPort,
      user: userInfo().username,
      root_dir: join(this.root, "minions", id),
      ...soonBack(this.#makers.minion),
      ...goldenMinion(id, this.root),
    });
    if (id === "es1") writeSettings(join(configDir, "minion.d/mine.conf"), es1Mine);
    this.#minions.set(id, this.#start("salt-minion", configDir, id));
  }

  #start(program: "salt-master" | "salt-minion", configDir: string, minionId?: string): Program {
    const [command, ...first] = startingWords(program, this.#makers);
    const words = [...first, "-c", configDir];
    if (minionId === undefined) return new Program(program, command, [...words, "-l", "info"], {});
    return new Program(`minion ${minionId}`, command, words, this.#environment(program, minionId));
  }

  #environment(program: string, minionId: string | undefined): NodeJS.ProcessEnv {
    const { FORCE_COLOR: _color, NO_COLOR: _none, NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
    const ownPrograms = minionId === undefined ? "" : `${join(this.root, "minions", minionId, "bin")}:`;
    const text = { LANG: "C.UTF-8", LC_ALL: "C.UTF-8", HOME: this.homeDir, SHELL: "/bin/sh" };
    const quiet = makerOf(program, this.#makers) === "ours" ? {} : { PYTHONWARNINGS: "ignore" };
    return { ...inherited, ...text, ...quiet, PATH: `${ownPrograms}${process.env.PATH ?? ""}` };
  }

  #minion(id: string): Program {
    const minion = this.#minions.get(id);
    if (minion === undefined) throw new Error(`no minion ${id}`);
    return minion;
  }
}
