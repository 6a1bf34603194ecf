/**
 * The floor as a master under test: `floor/floor.c`, compiled if this machine has a C compiler, libzmq and OpenSSL.
 * It answers sealed `_return`s of version 3 and nothing else: no `_auth`, no publishes, no job cache.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { packageRoot } from "../../src/config/host/program.ts";
import { generateKeyString } from "../../src/crypto/crypticle.ts";
import { SaltworksError } from "../../src/errors.ts";
import { descriptorLimits, withDescriptors } from "../fleet/descriptors.ts";
import type { MasterUnderTest } from "../scenarios/setup/master-contract.ts";

/** `program`: the path of the compiled program. Otherwise a sentence that names what this machine lacks. */
export type Compiled = { readonly program: string } | { readonly missing: string };

const compileFlags = ["-O2"];
const libraries = ["-lzmq", "-lcrypto"];
const compileTimeoutMs = 60_000;
const readyTimeoutMs = 10_000;

/** Messages of a compiler or linker when a package is missing. */
const lacks: readonly [RegExp, string][] = [
  [/zmq\.h|-lzmq/, "no libzmq to compile against (Debian: libzmq3-dev)"],
  [/openssl\/|-lcrypto/, "no OpenSSL 3 to compile against (Debian: libssl-dev)"],
  [/(?:stdio|stdlib|stdint|sys\/prctl)\.h/, "no C library to compile against (Debian: libc6-dev)"],
];

/**
 * Compiles the source once per source and compiler; later calls find the program.
 *
 * @throws SaltworksError FUNCTION_FAILED if the compiler refuses the source although all packages are there
 */
export function compileFloor(compiler = "cc"): Compiled {
  const source = join(packageRoot(), "bench", "peers", "floor", "floor.c");
  const version = spawnSync(compiler, ["--version"], { encoding: "utf8" });
  if (version.error !== undefined || version.status !== 0) return { missing: `no C compiler (${compiler})` };
  const mark = createHash("sha256").update(readFileSync(source)).update(version.stdout).digest("hex").slice(0, 16);
  const program = join(programDirectory(), `floor-${mark}`);
  if (existsSync(program)) return { program };
  // Renamed into place when complete, because two benches may compile at once.
  const partial = `${program}.${process.pid}`;
  const done = spawnSync(compiler, [...compileFlags, "-o", partial, source, ...libraries], {
    encoding: "utf8",
    timeout: compileTimeoutMs,
    env: { ...process.env, LC_ALL: "C" },
  });
  if (done.status !== 0) {
    const lack = lacks.find(([pattern]) => pattern.test(done.stderr));
    if (lack !== undefined) return { missing: lack[1] };
    throw new SaltworksError("FUNCTION_FAILED", `${compiler} does not compile ${source}:\n${done.stderr}`);
  }
  renameSync(partial, program);
  return { program };
}

/** A directory that is kept between runs. Its programs are run, so no other user may write to it. */
function programDirectory(): string {
  const uid = process.getuid?.() ?? 0;
  const directory = join(tmpdir(), `saltworks-floor-${uid}`);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const found = lstatSync(directory);
  if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
    throw new SaltworksError("USAGE", `${directory} belongs to another user or is open to others: remove it`);
  }
  return directory;
}

/** @throws SaltworksError USAGE if it cannot be compiled because a package is missing, MASTER_UNREACHABLE if it does not come up */
export async function startFloor(): Promise<MasterUnderTest> {
  const compiled = compileFloor();
  if ("missing" in compiled) throw new SaltworksError("USAGE", `no floor: ${compiled.missing}`);
  const floor = new Floor(compiled.program);
  try {
    await floor.restart();
    return floor;
  } catch (error) {
    await floor.remove();
    throw error;
  }
}

class Floor implements MasterUnderTest {
  readonly kind = "floor";
  readonly sessionKey = generateKeyString();
  readonly publishPort = 0;
  readonly #program: string;
  readonly #directory = mkdtempSync(join(tmpdir(), "sw-floor-"));
  #child: ChildProcess | undefined;
  #hasEnded: Promise<void> = Promise.resolve();
  #requestPort = 0;
  #version = "";

  constructor(program: string) {
    this.#program = program;
    writeFileSync(this.#keyFile, `* ${this.sessionKey}\n`, { mode: 0o600 });
  }

  get #keyFile(): string {
    return join(this.#directory, "keys");
  }

  get #logFile(): string {
    return join(this.#directory, "output");
  }

  get version(): string {
    return this.#version;
  }

  get host(): string {
    return "127.0.0.1";
  }

  get usageFrom(): "process" {
    return "process";
  }

  get requestPort(): number {
    return this.#requestPort;
  }

  get socketDirectory(): string {
    return this.#directory;
  }

  get cacheDirectory(): string {
    return this.#directory;
  }

  get processId(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new SaltworksError("MASTER_UNREACHABLE", "the floor does not run");
    return pid;
  }

  client(): never {
    throw new SaltworksError("USAGE", "the floor answers returns only");
  }

  logTail(): string {
    return existsSync(this.#logFile) ? readFileSync(this.#logFile, "utf8") : "";
  }

  /** Starts again on the port of the first start. */
  async restart(): Promise<void> {
    await this.#end();
    const command = [this.#program, this.#keyFile, String(this.#requestPort)];
    const { file, args } = withDescriptors({ least: 0, wanted: descriptorLimits().hard }, command);
    const log = openSync(this.#logFile, "a");
    const child = spawn(file, args, { stdio: ["ignore", "pipe", log] });
    closeSync(log);
    this.#child = child;
    this.#hasEnded = new Promise((resolve) => child.once("exit", () => resolve()));
    const ready = /^ready (\d+) (.*)$/.exec((await this.#firstLine(child)) ?? "");
    if (ready === null) {
      throw new SaltworksError("MASTER_UNREACHABLE", `the floor did not come up: ${this.logTail()}`);
    }
    this.#requestPort = Number(ready[1]);
    this.#version = ready[2] ?? "";
  }

  async remove(): Promise<void> {
    await this.#end();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #end(): Promise<void> {
    // KILL is enough, because the floor has nothing to write.
    this.#child?.kill("SIGKILL");
    await this.#hasEnded;
    this.#child = undefined;
  }

  async #firstLine(child: ChildProcess): Promise<string | undefined> {
    if (child.stdout === null) return undefined;
    const timer = setTimeout(() => child.kill("SIGKILL"), readyTimeoutMs);
    try {
      for await (const line of createInterface({ input: child.stdout })) return line;
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}
