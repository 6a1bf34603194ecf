/**
 * Servers of other projects that tests use, each on loopback with a private directory: MariaDB, PostgreSQL, Redis, memcached, NATS, OpenLDAP,
 * Prometheus.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../bench/free-ports.ts";

export type Service = {
  readonly port: number;
  /** Its private directory. */
  readonly directory: string;
  /** Undefined while it does not run. */
  readonly processId: () => number | undefined;
  /** With SIGKILL, unless told otherwise. */
  readonly kill: (signal?: NodeJS.Signals) => Promise<void>;
  /** Starts it again on its data and its port, and waits until it takes connections. */
  readonly run: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** The user id 65534, which has no rights: PostgreSQL and memcached refuse to run as root. */
export const powerless = 65_534;
const startTimeoutMs = 60_000;
/** Debian keeps servers outside the PATH of most users. */
const serverPlaces = ["/usr/sbin", ...postgreSqlPlaces()];
const serverEnvironment = { ...process.env, PATH: [process.env.PATH, ...serverPlaces].join(":") };

function postgreSqlPlaces(): string[] {
  const root = "/usr/lib/postgresql";
  return existsSync(root) ? readdirSync(root).map((release) => join(root, release, "bin")) : [];
}

export function isThere(program: string): boolean {
  try {
    execFileSync("which", [program], { stdio: "ignore", env: serverEnvironment });
    return true;
  } catch {
    return false;
  }
}

/** The reason to skip a test, if one of its programs is missing. With CI=true a missing program fails the test instead. */
export function skipWithout(...programs: readonly string[]): string | false {
  const missing = programs.filter((program) => !isThere(program));
  return missing.length === 0 || process.env.CI === "true" ? false : `not installed: ${missing.join(", ")}`;
}

function makeDirectory(asOther: boolean): string {
  const directory = mkdtempSync(join(tmpdir(), "sw-service-"));
  if (asOther && process.getuid?.() === 0) chownSync(directory, powerless, powerless);
  return directory;
}

function identity(asOther: boolean): { uid?: number; gid?: number } {
  return asOther && process.getuid?.() === 0 ? { uid: powerless, gid: powerless } : {};
}

type Plan = {
  readonly asOther: boolean;
  readonly prepare?: (directory: string) => readonly [program: string, ...args: string[]];
  readonly run: (directory: string, port: number) => readonly [program: string, ...args: string[]];
};

async function start({ asOther, prepare, run }: Plan): Promise<Service> {
  const directory = makeDirectory(asOther);
  const port = await freePort();
  const options = { ...identity(asOther), cwd: directory, stdio: "ignore" as const, env: serverEnvironment };
  if (prepare !== undefined) {
    const [program, ...args] = prepare(directory);
    execFileSync(program, args, { ...options, timeout: startTimeoutMs });
  }
  const [program, ...args] = run(directory, port);
  let child: ChildProcess | undefined;
  const kill = async (signal: NodeJS.Signals = "SIGKILL") => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = once(ending, "exit");
    const backends = signal === "SIGKILL" ? childrenOf(ending.pid) : [];
    ending.kill(signal);
    await ended;
    await Promise.all(backends.map(killOrphan));
  };
  const stopNow = () => child?.kill("SIGKILL");
  const close = async () => {
    process.off("exit", stopNow);
    await kill();
    rmSync(directory, { recursive: true, force: true });
  };
  const begin = async () => {
    child = spawn(program, args, options);
    await untilOpen(child, port);
  };
  process.once("exit", stopNow);
  try {
    await begin();
  } catch (error) {
    await close();
    throw error;
  }
  return { port, directory, processId: () => child?.pid, kill, run: begin, close };
}

/** Processes of a server's own: PostgreSQL has one for each connection. */
function childrenOf(processId: number | undefined): number[] {
  const list = `/proc/${processId}/task/${processId}/children`;
  return existsSync(list) ? readFileSync(list, "utf8").split(" ").filter(Boolean).map(Number) : [];
}

/** A process for a connection outlives its killed server until it waits again, and commits what it has got by then. */
async function killOrphan(processId: number): Promise<void> {
  const endMs = Date.now() + startTimeoutMs;
  while (isRunning(processId)) {
    if (Date.now() > endMs) throw new Error(`process ${processId} of a killed server does not end`);
    try {
      process.kill(processId, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
    await delay(2);
  }
}

/** A process that has ended and that its new parent has not asked for yet does not run. */
function isRunning(processId: number): boolean {
  try {
    const stat = readFileSync(`/proc/${processId}/stat`, "latin1");
    return !stat.slice(stat.lastIndexOf(")") + 2).startsWith("Z");
  } catch {
    return false;
  }
}

async function untilOpen(child: ChildProcess, port: number): Promise<void> {
  const endMs = Date.now() + startTimeoutMs;
  while (!(await isOpen(port))) {
    if (child.exitCode !== null || Date.now() > endMs) throw new Error(`${child.spawnfile} does not start`);
    await delay(20);
  }
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(socket.destroy() !== undefined));
    socket.once("error", () => resolve(false));
  });
}

/** User `root` without a password. `args`: further arguments. */
export function startMariaDb(...args: readonly string[]): Promise<Service> {
  return start({
    asOther: true,
    prepare: (directory) => [
      ...(["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal"] as const),
      ...[`--datadir=${directory}/data`, "--skip-test-db"],
    ],
    run: (directory, port) => [
      ...(["mariadbd", "--no-defaults", `--datadir=${directory}/data`, "--bind-address=127.0.0.1"] as const),
      ...[`--port=${port}`, `--socket=${directory}/socket`, `--pid-file=${directory}/pid`, ...args],
    ],
  });
}

/**
 * User and database `postgres`. `passwords`: connections over TCP need one, and those by the socket in the service's directory do not; otherwise
 * none do. `settings`: of the server.
 */
export function startPostgreSql(
  o: { readonly passwords?: boolean; readonly settings?: Readonly<Record<string, string>> } = {},
): Promise<Service> {
  const settings = { listen_addresses: "127.0.0.1", fsync: "off", shared_buffers: "64MB", ...o.settings };
  return start({
    asOther: true,
    prepare: (directory) => [
      ...(["initdb", "--auth-local=trust", `--auth-host=${o.passwords ? "scram-sha-256" : "trust"}`] as const),
      ...["-U", "postgres", "-E", "UTF8", "--locale=C", "-D", `${directory}/data`],
    ],
    run: (directory, port) => [
      ...(["postgres", "-D", `${directory}/data`, "-p", String(port)] as const),
      ...["-c", `unix_socket_directories=${directory}`],
      ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ],
  });
}

/** `args`: further arguments. */
export function startRedis(...args: readonly string[]): Promise<Service> {
  return start({
    asOther: false,
    run: (directory, port) => [
      ...(["redis-server", "--port", String(port), "--bind", "127.0.0.1"] as const),
      ...["--save", "", "--dir", directory, ...args],
    ],
  });
}

/** With JetStream. `args`: further arguments. */
export function startNats(...args: readonly string[]): Promise<Service> {
  return start({
    asOther: false,
    run: (directory, port) => [
      ...(["nats-server", "--addr", "127.0.0.1", "--port", String(port), "--jetstream"] as const),
      ...["--store_dir", directory, ...args],
    ],
  });
}

/**
 * OpenLDAP with the entries of `ldif`. `settings`: lines of slapd.conf before its database; `rules`: lines in it.
 * The administrator is `cn=admin,SUFFIX` with the password `admin-1`.
 */
export function startSlapd(o: {
  readonly suffix: string;
  readonly ldif: string;
  readonly settings?: readonly string[];
  readonly rules?: readonly string[];
  readonly scheme?: "ldap" | "ldaps";
}): Promise<Service> {
  const schemas = ["core", "cosine", "inetorgperson", "nis"].map((name) => `include /etc/ldap/schema/${name}.schema`);
  const lines = (directory: string) => [
    ...[...schemas, "modulepath /usr/lib/ldap", "moduleload back_mdb", ...(o.settings ?? [])],
    ...["database mdb", `suffix "${o.suffix}"`, `rootdn "cn=admin,${o.suffix}"`, "rootpw admin-1"],
    ...[`directory ${directory}/data`, ...(o.rules ?? [])],
  ];
  return start({
    asOther: true,
    prepare: (directory) => {
      mkdirSync(join(directory, "data"));
      writeFileSync(join(directory, "slapd.conf"), `${lines(directory).join("\n")}\n`);
      writeFileSync(join(directory, "entries.ldif"), o.ldif);
      for (const name of ["data", "slapd.conf", "entries.ldif"])
        if (process.getuid?.() === 0) chownSync(join(directory, name), powerless, powerless);
      return ["slapadd", "-f", `${directory}/slapd.conf`, "-l", `${directory}/entries.ldif`];
    },
    run: (directory, port) => [
      ...(["slapd", "-f", `${directory}/slapd.conf`, "-d", "0"] as const),
      ...["-h", `${o.scheme ?? "ldap"}://127.0.0.1:${port}/`],
    ],
  });
}

export function startMemcached(): Promise<Service> {
  return start({ asOther: true, run: (_, port) => ["memcached", "-l", "127.0.0.1", "-p", String(port)] });
}

/** Scrapes the targets of `job` every second, with the rules of the files. */
export function startPrometheus(
  job: string,
  targets: readonly string[],
  ruleFiles: readonly string[],
): Promise<Service> {
  return start({
    asOther: false,
    run: (directory, port) => {
      const config = {
        global: { scrape_interval: "1s", evaluation_interval: "1s" },
        rule_files: ruleFiles,
        scrape_configs: [{ job_name: job, static_configs: [{ targets }] }],
      };
      // JSON is YAML, too.
      writeFileSync(join(directory, "prometheus.yml"), JSON.stringify(config));
      return [
        ...(["prometheus", `--config.file=${directory}/prometheus.yml`] as const),
        ...[`--storage.tsdb.path=${directory}/data`, `--web.listen-address=127.0.0.1:${port}`],
      ];
    },
  });
}
