// Builds nats-server, the program that joins several masters, from its Go module: `node scripts/nats-server.mjs [--to DIR]`.
// DIR is by default saltworks/nats-server-VERSION below $XDG_CACHE_HOME or ~/.cache, where src/cluster/server/program.ts looks for it.
// The module's hash is pinned here, and its own go.sum pins what it imports, so that it does not matter which proxy serves them. Go is taken from
// the PATH if it is new enough. Otherwise it is fetched as the module golang.org/toolchain, whose hash is pinned, too. It and all caches are removed.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { chmod, mkdir, mkdtemp, open } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const server = {
  module: "github.com/nats-io/nats-server/v2",
  version: "2.15.2",
  /** As in a go.sum: of all files of the module. */
  hash: "h1:yLsgt2kslgymvxvjFq1WGWck5hkat2YYfbXvQ145tzU=",
  /** What its go.mod asks for. */
  goMin: "1.26.0",
};
/** `sha256`: of the module's zip file, by Node's name of the processor. */
const toolchain = {
  version: "1.26.10",
  x64: { name: "linux-amd64", sha256: "f64ecb0807852be2c98899561c45288a9ad57f4e88f3cd002ffabeccbd03bfe1" },
  arm64: { name: "linux-arm64", sha256: "195f18be92553fb272b9c4f9fca6e67b6a04d8831bf6c4b918ac70982fadb444" },
};
/** Go's own default, for a machine without Go. */
const defaultProxies = "https://proxy.golang.org,direct";
const zipBytesMax = 200 * 1024 * 1024;
/** Looks at programs, milliseconds. */
const lookMs = 30_000;
/** One download, milliseconds: some 70 MB. */
const downloadMs = 900_000;
/** The build, milliseconds: three minutes on two cores, longer beside other work. */
const buildMs = 2_700_000;
const complaintMax = 4_000;

/** An error whose message says all: no stack is shown. */
class Refused extends Error {}

const stopping = new AbortController();
const startedMs = performance.now();

function say(line) {
  process.stdout.write(`${line}\n`);
}

/** A step that only a person who waits wants to see. */
function sayStep(line) {
  if (process.stdout.isTTY) say(line);
}

/** Runs a program in a process group of its own, which ends as a whole. @returns its output and its exit code; undefined if there is none that can be run */
async function run(command, args, { timeoutMs, ...options }) {
  stopping.signal.throwIfAborted();
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], detached: true, ...options });
  let [output, complaint] = ["", ""];
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  child.stderr.on("data", (chunk) => {
    complaint = (complaint + chunk).slice(-complaintMax);
  });
  const limit = AbortSignal.any([stopping.signal, AbortSignal.timeout(timeoutMs)]);
  const end = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  };
  limit.addEventListener("abort", end);
  try {
    const [code] = await once(child, "close");
    stopping.signal.throwIfAborted();
    if (limit.aborted) throw new Refused(`${command} took longer than ${timeoutMs / 1_000} s`);
    return { code, output, complaint: complaint.trim() };
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "EACCES") return undefined;
    throw error;
  } finally {
    limit.removeEventListener("abort", end);
  }
}

function isAtLeast(version, least) {
  const [some, others] = [version, least].map((text) => text.split(".").map(Number.parseFloat));
  const at = others.findIndex((part, index) => (some[index] ?? 0) !== part);
  return at < 0 || (some[at] ?? 0) > others[at];
}

async function versionOf(program) {
  if (!existsSync(program)) return undefined;
  const ran = await run(program, ["--version"], { timeoutMs: lookMs });
  return /^nats-server: v(\S+)/.exec(ran?.output ?? "")?.[1];
}

/** The variables of all calls of Go: nothing of the user's own caches is read or written, and no other Go is fetched behind our back. */
function goEnvironment(place) {
  const { GOOS: _, GOARCH: __, GOBIN: ___, GOTMPDIR: ____, GOROOT: _____, ...inherited } = process.env;
  return {
    ...inherited,
    GO111MODULE: "on",
    GOTOOLCHAIN: "local",
    GOWORK: "off",
    // The hashes are pinned, so that a proxy alone is enough.
    GOSUMDB: "off",
    GOFLAGS: "-modcacherw -buildvcs=false",
    CGO_ENABLED: "0",
    GOPATH: join(place, "go"),
    GOMODCACHE: join(place, "go", "pkg", "mod"),
    GOCACHE: join(place, "go-build"),
  };
}

/** `version`: of the Go on the PATH; undefined without one. `proxies`: what it would fetch modules from. */
async function installedGo(env) {
  const ran = await run("go", ["env", "GOVERSION", "GOPROXY"], { timeoutMs: lookMs, env });
  const [version = "", proxies = ""] = (ran?.output ?? "").split("\n");
  return {
    version: /^go(\d[\d.]*)/.exec(version)?.[1],
    proxies: proxies || process.env.GOPROXY || defaultProxies,
  };
}

/** A proxy's file as a stream of chunks. Credentials of its URL go into a header, as `fetch` refuses them. */
async function openDownload(url, signal) {
  if (url.protocol === "file:") return createReadStream(fileURLToPath(url), { signal });
  const headers = {};
  if (url.username !== "") {
    const login = [url.username, url.password].map(decodeURIComponent).join(":");
    headers.authorization = `Basic ${Buffer.from(login).toString("base64")}`;
    url.username = "";
    url.password = "";
  }
  const response = await fetch(url, { headers, signal });
  if (!response.ok || response.body === null) throw new Refused(`status ${response.status}`);
  return response.body;
}

/** @returns the SHA-256 of what was written to `path` */
async function download(url, path) {
  const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(downloadMs)]);
  const hash = createHash("sha256");
  const file = await open(path, "w");
  let bytes = 0;
  try {
    for await (const chunk of await openDownload(url, signal)) {
      bytes += chunk.length;
      if (bytes > zipBytesMax) throw new Refused(`more than ${zipBytesMax} bytes`);
      hash.update(chunk);
      await file.write(chunk);
    }
  } finally {
    await file.close();
  }
  return hash.digest("hex");
}

/** Tries each proxy of GOPROXY in turn. */
async function downloadToolchain({ name, sha256 }, proxies, path) {
  const faults = [];
  for (const proxy of proxies.split(/[,|]/).map((text) => text.trim())) {
    if (!/^(?:https?|file):/.test(proxy)) continue;
    const url = new URL(
      `${proxy.replace(/\/$/, "")}/golang.org/toolchain/@v/v0.0.1-go${toolchain.version}.${name}.zip`,
    );
    const shown = `${url.protocol}//${url.host}${url.pathname}`;
    try {
      const found = await download(url, path);
      if (found === sha256) return;
      faults.push(`${shown}: its SHA-256 is ${found}, but ${sha256} is expected`);
    } catch (error) {
      stopping.signal.throwIfAborted();
      faults.push(`${shown}: ${error.cause?.message ?? error.message}`);
    }
  }
  throw new Refused(
    [
      `Go ${toolchain.version} could not be fetched`,
      ...faults,
      `Install Go ${server.goMin} or newer, or set GOPROXY.`,
    ].join("\n  "),
  );
}

async function unpack(zip, to, env) {
  const ways = [
    ["python3", "-m", "zipfile", "-e", zip, to],
    ["unzip", "-q", zip, "-d", to],
  ];
  for (const [command, ...args] of ways) {
    const ran = await run(command, args, { timeoutMs: downloadMs, env });
    if (ran?.code === 0) return;
    if (ran !== undefined) throw new Refused(`${command} could not unpack Go: ${ran.complaint}`);
  }
  throw new Refused("Go cannot be unpacked: install python3 or unzip");
}

/** Zip files of modules hold no modes, and no go.mod of modules inside. */
async function repairToolchain(root) {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((found) => found.isFile())) {
    const path = join(entry.parentPath, entry.name);
    if (entry.name === "_go.mod") renameSync(path, path.replace(/_go\.mod$/, "go.mod"));
    if (/^(?:bin|pkg\/tool)\//.test(path.slice(root.length + 1))) await chmod(path, 0o755);
  }
}

/** @returns the program `go` */
async function fetchGo(proxies, place, env) {
  const kind = process.platform === "linux" ? toolchain[process.arch] : undefined;
  if (kind?.sha256 === undefined) {
    throw new Refused(
      `Go ${server.goMin} or newer is needed: install it (it is fetched on Linux with x86-64 or ARM64 only)`,
    );
  }
  sayStep(`fetching Go ${toolchain.version}`);
  const zip = join(place, "go.zip");
  await downloadToolchain(kind, proxies, zip);
  sayStep("unpacking Go");
  await unpack(zip, join(place, "toolchain"), env);
  rmSync(zip);
  const root = join(place, "toolchain", "golang.org", `toolchain@v0.0.1-go${toolchain.version}.${kind.name}`);
  await repairToolchain(root);
  return join(root, "bin", "go");
}

/** @returns the directory with the module's files, whose hash is the pinned one */
async function fetchModule(go, place, env) {
  sayStep(`fetching ${server.module} ${server.version}`);
  const name = `${server.module}@v${server.version}`;
  const ran = await run(go, ["mod", "download", "-json", name], { timeoutMs: downloadMs, env, cwd: place });
  // Go reports its faults in the answer, too.
  const { Error: fault, Sum: hash, Dir: directory } = ran?.output.startsWith("{") ? JSON.parse(ran.output) : {};
  if (ran?.code !== 0 || directory === undefined) {
    throw new Refused(
      `${name} could not be fetched: ${fault ?? ran?.complaint}\n  The variable GOPROXY says from where Go fetches it.`,
    );
  }
  if (hash !== server.hash) {
    throw new Refused(
      `${name} has the hash ${hash}, but ${server.hash} is expected: nothing was built.\n  Another proxy (GOPROXY) may serve the right one.`,
    );
  }
  return directory;
}

async function build(go, { directory, to, env }) {
  sayStep("building (some minutes)");
  const unfinished = join(to, `.nats-server-${process.pid}`);
  try {
    const flags = ["-mod=readonly", "-trimpath", "-ldflags=-s -w", "-o", unfinished];
    const ran = await run(go, ["build", ...flags, "."], { timeoutMs: buildMs, env, cwd: directory });
    if (ran?.code !== 0) throw new Refused(`the build failed: ${ran?.complaint}`);
    const version = await versionOf(unfinished);
    if (version !== server.version) throw new Refused(`the built program says that it is version ${version}`);
    renameSync(unfinished, join(to, "nats-server"));
  } finally {
    rmSync(unfinished, { force: true });
  }
}

async function main() {
  const { values } = parseArgs({ options: { to: { type: "string" } } });
  const cache = process.env.XDG_CACHE_HOME ?? "";
  const cacheHome = isAbsolute(cache) ? cache : join(homedir(), ".cache");
  const to = resolve(values.to ?? join(cacheHome, "saltworks", `nats-server-${server.version}`));
  const program = join(to, "nats-server");
  if ((await versionOf(program)) === server.version) {
    say(`nats-server ${server.version} is there already: ${program}`);
    return;
  }
  if (existsSync(program) && statSync(program).isDirectory()) throw new Refused(`${program} is a directory`);
  await mkdir(to, { recursive: true });
  const place = await mkdtemp(join(tmpdir(), "saltworks-nats-server-"));
  try {
    const env = goEnvironment(place);
    const { version, proxies } = await installedGo(env);
    const isFetched = version === undefined || !isAtLeast(version, server.goMin);
    say(`nats-server ${server.version} is built with Go ${isFetched ? `${toolchain.version}, fetched` : version}`);
    const go = isFetched ? await fetchGo(proxies, place, env) : "go";
    await build(go, { directory: await fetchModule(go, place, env), to, env });
  } finally {
    rmSync(place, { recursive: true, force: true, maxRetries: 5 });
  }
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  say(`nats-server ${server.version} is ready after ${seconds} s: ${program}`);
}

for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
  process.once(signal, () => {
    process.exitCode = code;
    stopping.abort();
  });
}
try {
  await main();
} catch (error) {
  if (!stopping.signal.aborted) {
    process.exitCode = 1;
    process.stderr.write(`${error instanceof Refused || error.code ? error.message : error.stack}\n`);
  } else process.stderr.write("stopped\n");
}
